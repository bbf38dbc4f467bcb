
// ---- filters

const option = (value, label) => el("option", { value }, label);

/** Remembers how a choice stands in the address; `texts` are its options there, by their values. */
function addressed(key, control, apply, texts = null) {
  const read = () => (texts ? (texts[control.value] ?? "") : control.value);
  const choose = (text) => {
    const value = texts ? Object.keys(texts).find((value) => texts[value] === text) : text;
    control.value = value ?? "";
    // What is not among the options is not chosen.
    if (control.selectedIndex === -1) control.selectedIndex = 0;
    apply(control.value);
  };
  choices.push({ key, first: read(), chosen: read, choose });
}

/** A labelled choice that filters again when it changes. */
function choice(label, options, apply, key, texts) {
  const change = () => {
    apply(select.value);
    update();
  };
  const select = el("select", { onchange: change }, ...options);
  addressed(key, select, apply, texts);
  return el("label", {}, label, select);
}

/** A choice among the values of a parameter; the first two hundred of them. */
function parameterChoice(name, at) {
  const values = [...new Set(data.variants.map((v) => v.params[at]).filter((value) => value !== null))];
  values.sort((a, b) => inOrder(sortable(a), sortable(b)));
  const options = values.slice(0, 200).map((value) => option(value, value));
  return choice(name, [option("", "any"), ...options], (value) => (state.params[at] = value), "p." + name);
}

function shapeChoice() {
  const options = data.shapes.map((name, at) => option(at, name));
  options[data.shape].setAttribute("selected", "");
  return choice("Shape", options, (value) => (state.shape = Number(value)), "shape", { ...data.shapes });
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
  addressed("search", search, (value) => (state.query = value));
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
  addressed("bound", bound, (value) => (state.bound = value));
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
  const chosen = () => (box.checked ? "1" : "");
  const choose = (text) => {
    box.checked = state.all = text === "1";
    makeColumns();
  };
  choices.push({ key: "all", first: "", chosen, choose });
  return el("label", { class: "check" }, box, "all metrics");
}

const VERDICTS = [
  option("", "any"),
  option("pass", "pass"),
  option("fail", "fail"),
  option("inconclusive", "inconclusive"),
  option("not compared", "not compared"),
  option("baseline", "baselines"),
];
const metricOptions = data.metrics.map((metric, at) => option(at, metric.title));
const metricNames = { ...data.metrics.map((metric) => metric.name) };
const sides = [option("<=", "at most"), option(">=", "at least")];

const filters = $("filters");
filters.append(
  searchField(),
  choice("Gates", VERDICTS, (value) => (state.verdict = value), "gates"),
  ...data.params.map(parameterChoice),
  choice("Metric", [option("", "any"), ...metricOptions], (value) => (state.metric = value), "metric", metricNames),
  choice("is", sides, (value) => (state.side = value), "is"),
  boundField(),
  ...(data.shapes.length > 1 ? [shapeChoice()] : []),
  allMetricsBox(),
);
filters.addEventListener("submit", (event) => event.preventDefault());
