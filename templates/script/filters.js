
// ---- filters

const option = (value, label) => el("option", { value }, label);

/** A labelled choice that filters again when it changes. */
function choice(label, options, apply) {
  const change = () => {
    apply(select.value);
    update();
  };
  const select = el("select", { onchange: change }, ...options);
  return el("label", {}, label, select);
}

/** A choice among the values of a parameter; the first two hundred of them. */
function parameterChoice(name, at) {
  const values = [...new Set(data.variants.map((v) => v.params[at]).filter((value) => value !== null))];
  values.sort((a, b) => inOrder(sortable(a), sortable(b)));
  const options = values.slice(0, 200).map((value) => option(value, value));
  return choice(name, [option("", "any"), ...options], (value) => (state.params[at] = value));
}

function shapeChoice() {
  const options = data.shapes.map((name, at) => option(at, name));
  const label = choice("Shape", options, (value) => (state.shape = Number(value)));
  label.querySelector("select").value = data.shape;
  return label;
}

function searchField() {
  const search = el("input", {
    type: "search",
    placeholder: "name or gate",
    oninput: () => {
      state.query = search.value;
      update();
    },
  });
  return el("label", { class: "wide" }, "Search", search);
}

function boundField() {
  const bound = el("input", {
    type: "number",
    step: "any",
    oninput: () => {
      state.bound = bound.value;
      update();
    },
  });
  return el("label", {}, "Value", bound);
}

function allMetricsBox() {
  const box = el("input", {
    type: "checkbox",
    onchange: () => {
      state.all = box.checked;
      makeColumns();
      update();
    },
  });
  return el("label", { class: "check" }, box, "all metrics");
}

const VERDICTS = [
  option("", "any"),
  option("pass", "pass"),
  option("fail", "fail"),
  option("inconclusive", "inconclusive"),
  option("baseline", "baselines"),
];
const metricOptions = data.metrics.map((metric, at) => option(at, metric.title));
const sides = [option("<=", "at most"), option(">=", "at least")];

const filters = $("filters");
filters.append(
  searchField(),
  choice("Gates", VERDICTS, (value) => (state.verdict = value)),
  ...data.params.map(parameterChoice),
  choice("Metric", [option("", "any"), ...metricOptions], (value) => (state.metric = value)),
  choice("is", sides, (value) => (state.side = value)),
  boundField(),
  ...(data.shapes.length > 1 ? [shapeChoice()] : []),
  allMetricsBox(),
);
filters.addEventListener("submit", (event) => event.preventDefault());
