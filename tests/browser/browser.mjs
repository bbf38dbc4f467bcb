// Drives a page in headless Chromium over the DevTools protocol through a pipe; needs no packages.
import { spawn } from "node:child_process";

export async function launch(binary, size = [1440, 900]) {
  const child = spawn(binary, ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe",
    "--user-data-dir=" + (process.env.NCUGATE_PROFILE ?? "/tmp/ncugate-browser-" + process.pid), `--window-size=${size.join(",")}`, "about:blank"],
  { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
  const [into, from] = [child.stdio[3], child.stdio[4]];
  let last = 0, rest = "";
  const waiting = new Map(), listeners = [];
  from.on("data", (chunk) => {
    const parts = (rest + chunk).split("\0");
    rest = parts.pop();
    for (const part of parts) {
      const message = JSON.parse(part);
      if (message.id === undefined) { listeners.forEach((listen) => listen(message)); continue; }
      const { resolve, reject } = waiting.get(message.id);
      waiting.delete(message.id);
      message.error ? reject(new Error(message.error.message)) : resolve(message.result);
    }
  });
  const raw = (method, params, sessionId) => new Promise((resolve, reject) => {
    waiting.set(++last, { resolve, reject });
    into.write(JSON.stringify({ id: last, method, params, sessionId }) + "\0");
  });

  async function open(url, { scheme = "light", width = size[0], height = size[1] } = {}) {
    const { targetId } = await raw("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await raw("Target.attachToTarget", { targetId, flatten: true });
    const send = (method, params = {}) => raw(method, params, sessionId);
    const errors = [], requests = [];
    let loaded;
    const ready = new Promise((resolve) => { loaded = resolve; });
    listeners.push((message) => {
      if (message.sessionId !== sessionId) return;
      const p = message.params;
      if (message.method === "Runtime.exceptionThrown") errors.push(p.exceptionDetails.exception?.description ?? p.exceptionDetails.text);
      if (message.method === "Runtime.consoleAPICalled" && ["error", "warning"].includes(p.type)) errors.push(p.args.map((a) => a.value).join(" "));
      if (message.method === "Log.entryAdded" && ["error", "warning"].includes(p.entry.level)) errors.push(p.entry.text);
      if (message.method === "Network.requestWillBeSent") requests.push(p.request.url.slice(0, 200));
      if (message.method === "Page.loadEventFired") loaded();
    });
    for (const domain of ["Page", "Runtime", "Log", "Network"]) await send(domain + ".enable");
    await send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: width < 600 });
    await send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] });
    await send("Page.navigate", { url });
    await ready;
    const evaluate = async (expression) => {
      const { result, exceptionDetails } = await send("Runtime.evaluate", { expression, returnByValue: true, awaitPromise: true });
      if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
      return result.value;
    };
    const CODES = { Enter: 13, " ": 32, ArrowDown: 40, ArrowUp: 38, ArrowLeft: 37, ArrowRight: 39, Escape: 27, Tab: 9, End: 35, Home: 36 };
    const key = async (name) => {
      const event = { key: name, code: name === " " ? "Space" : name, windowsVirtualKeyCode: CODES[name] };
      await send("Input.dispatchKeyEvent", { type: "keyDown", ...event, ...(name === "Enter" ? { text: "\r" } : {}) });
      await send("Input.dispatchKeyEvent", { type: "keyUp", ...event });
    };
    const shot = async (clip) => Buffer.from((await send("Page.captureScreenshot", { format: "png", captureBeyondViewport: true, ...(clip ? { clip: { scale: 1, ...clip } } : {}) })).data, "base64");
    return { send, evaluate, key, shot, errors, requests, close: () => raw("Target.closeTarget", { targetId }) };
  }
  const close = async () => { await raw("Browser.close").catch(() => {}); child.kill(); };
  return { open, close };
}
