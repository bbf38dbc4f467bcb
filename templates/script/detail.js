
// ---- one variant

const dialog = $("detail");
dialog.addEventListener("close", () => {
  state.open = null;
  keepAddress();
  grid.focus({ preventScroll: true });
});
dialog.addEventListener("click", (event) => {
  if (event.target === dialog) dialog.close();
});

const pairs = (entries) =>
  el("dl", { class: "pairs" }, ...entries.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));

/** A heading with what follows, where there is something. */
const part = (title, some, content) => (some ? [el("h3", {}, title), content()] : []);

/** Everything known of a variant. */
function open(v) {
  const [, , log] = pooled(v.build);
  const checks = pooled(v.checks);
  const uses = pooled(v.uses);
  const gates = gateLines(v);
  const close = el("button", { type: "button", onclick: () => dialog.close() }, "Close");
  dialog.replaceChildren(
    el("div", { class: "head" }, el("h2", { id: "detail-title" }, bdi(v.id)), reproduceButton(v), close),
    el(
      "div",
      { class: "body" },
      ...part("Facts", true, () => pairs(facts(v))),
      ...part("Gates", gates.length, () => table("Gates of the variant", ["gate", "result"], gates)),
      ...part("Metrics", true, () => table("Metrics of the variant", ["metric", ...data.shapes], metricLines(v))),
      ...part("Correctness", checks.length, () => checkTable(checks)),
      ...v.advice.flatMap(ncuSays),
      ...part("Resources", uses.length, () => table("Resources of the variant", ["resource", "used"], uses)),
      ...part("Compiler", log, () => el("pre", {}, bdi(log))),
    ),
  );
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
  state.open = v;
  keepAddress();
}

/** A button that copies the command which measures this variant; of a baseline, every command measures it. */
function reproduceButton(v) {
  if (!data.command) return null;
  const quoted = "'" + v.id.replaceAll("'", "'\\''") + "'";
  const command = v.baseline ? data.command : data.command + " --filter " + quoted;
  const copy = async () => {
    button.textContent = (await toClipboard(command)) ? "Copied" : "Not copied";
    setTimeout(() => (button.textContent = "Copy command"), 1500);
  };
  const button = el("button", { type: "button", class: "command", title: command, onclick: copy }, "Copy command");
  return button;
}

function facts(v) {
  const code = (text) => el("code", {}, text);
  const launches = pooled(v.launch).map((launch, at) => ["launch at " + data.shapes[at], launch]);
  const audits = v.audits.map((audit, at) => ["timed at " + data.shapes[at], audit]);
  const durations = v.witness.map((band, at) => ["durations at " + data.shapes[at], band]);
  return [
    ["gates", v.baseline ? "a baseline: not judged" : pill(v.verdict)],
    ["rank", String(v.rank ?? "none")],
    ["correctness", v.correct[1]],
    ...(v.graded ? [["latency", "self-reported: the program measures its own latency and checks its own results"]] : []),
    ...(v.doubt ? [["measurement rejected", v.doubt]] : []),
    ...audits.filter(([, audit]) => audit),
    ...durations.filter(([, band]) => band),
    ...(v.shares ? [["same machine code as", v.shares]] : []),
    ...v.stops.map((stop) => [v.verdict === "fail" ? "stopped by" : v.verdict, stop]),
    ["build", pooled(v.build)[1]],
    ["compiled with", code(v.command)],
    ...(v.code ? [["machine code", code(v.code)]] : []),
    ...launches.filter(([, launch]) => launch),
  ];
}

/** A line for every gate that was judged for the variant. */
function gateLines(v) {
  const line = (place, at) => {
    const [verdict, text] = pooled(place);
    return [el("span", {}, pill(verdict), " ", data.gates[at][0]), text];
  };
  return v.gates.map((place, at) => (place === null ? null : line(place, at))).filter((cells) => cells !== null);
}

function metricLines(v) {
  return data.metrics.map((metric, at) => {
    const title = el("span", {}, metric.title, " ", el("small", {}, metric.unit));
    return [title, ...data.shapes.map((_, shape) => shown(cellOf(v, shape, at)))];
  });
}

function checkTable(checks) {
  const outcome = (verdict, reason) => (reason ? el("span", {}, pill(verdict), " ", reason) : pill(verdict));
  const lines = checks.map(([shape, seed, verdict, maxAbs, relL2, reason]) => [
    shape,
    String(seed),
    maxAbs ?? "n/a",
    relL2 ?? "n/a",
    outcome(verdict, reason),
  ]);
  return table("Correctness of the variant", ["shape", "seed", "max |diff|", "relative L2", "verdict"], lines);
}

/** Advice of ncu's rules, and the instructions its sampler found warps at. */
function ncuSays(advice) {
  return [
    ...part("Nsight Compute's rules at shape " + advice.shape, advice.rules.length, () => ruleList(advice.rules)),
    ...part("Hottest instructions at shape " + advice.shape, advice.hot.length, () => hottest(advice.hot)),
  ];
}

function ruleList(rules) {
  const rule = ([title, message, estimate]) => {
    const tag = estimate ? el("span", { class: "tag" }, "speedup " + estimate) : null;
    return el("li", {}, el("b", {}, bdi(title)), tag, el("p", {}, bdi(message)));
  };
  return el("ul", { class: "rules" }, ...rules.map(rule));
}

/** Instructions with samples: what they are, and the source line they come from. */
function hottest(hot) {
  const known = hot.some(([, , , , code, line]) => code || line);
  const lines = hot.map(([offset, samples, share, stall, code, line]) => {
    const numbers = [offset, samples, share, stall];
    return known ? [...numbers, el("code", {}, bdi(code ?? "")), line ? bdi(line[0], line[1]) : ""] : numbers;
  });
  const heads = ["offset", "samples", "share %", "mostly", ...(known ? ["instruction", "line"] : [])];
  return table("Hottest instructions", heads, lines);
}
