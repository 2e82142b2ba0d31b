// The page's behaviour: state, settings to copy, and a chat over the same API that every other client uses. Text of the
// model only ever becomes text nodes.
"use strict";

const $ = (id) => document.getElementById(id);

function make(tag, className, text) {
  const e = document.createElement(tag);
  if (className) e.className = className;
  if (text !== undefined) e.textContent = text;
  return e;
}

// ---- State: ask often while the model loads, seldom afterwards.

const labels = { starting: "Starting", loading: "Loading", ready: "Ready", failed: "Failed", draining: "Shutting down", gone: "Not reachable" };

function show(health) {
  const before = document.body.dataset.status;
  document.body.dataset.status = health.status;
  $("badge").textContent = labels[health.status] || health.status;
  if (health.status === "loading") $("badge").textContent += ` ${Math.floor(health.progress * 100)} %`;
  $("loading").hidden = health.status === "ready" || health.status === "gone";
  $("progress").hidden = health.status === "failed";
  $("progress").value = health.progress * 100;
  $("stage").textContent = health.status === "failed" ? "The model could not be loaded." : health.stage || labels[health.status];
  $("failure").hidden = !health.error;
  $("failure").textContent = health.error || "";
  $("running").textContent = health.running || 0;
  $("waiting").textContent = health.waiting || 0;
  refreshButtons();
  // What is known of a model grows until it is ready; nothing can be lost by loading the page again then.
  if (health.status === "ready" && (before === "loading" || before === "starting") && !messages.length && !$("input").value) location.reload();
}

async function poll() {
  let status = "gone";
  try {
    const res = await fetch("/health", { cache: "no-store" });
    const health = await res.json();
    status = health.status;
    show(health);
  } catch {
    show({ status: "gone", progress: 0 });
  }
  setTimeout(poll, status === "ready" && !document.hidden && !answering ? 5000 : 1000);
}

// ---- Settings to copy.

async function copy(button) {
  const source = $(button.dataset.copy);
  try {
    await navigator.clipboard.writeText(source.textContent);
  } catch { // no clipboard outside of secure contexts: select it and use the old way
    const range = document.createRange();
    range.selectNodeContents(source);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    if (!document.execCommand("copy")) return;
  }
  button.classList.add("done");
  button.textContent = "Copied";
  setTimeout(() => {
    button.classList.remove("done");
    button.textContent = "Copy";
  }, 1500);
}

function tabs() {
  const list = document.querySelector("[role=tablist]");
  const all = [...list.children];
  const select = (tab, focus) => {
    for (const t of all) {
      t.setAttribute("aria-selected", t === tab);
      t.tabIndex = t === tab ? 0 : -1;
      $(t.getAttribute("aria-controls")).hidden = t !== tab;
    }
    if (focus) tab.focus();
  };
  list.addEventListener("click", (e) => e.target.role === "tab" && select(e.target));
  list.addEventListener("keydown", (e) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (step) select(all[(all.indexOf(e.target) + step + all.length) % all.length], true);
  });
  list.hidden = false;
  list.parentElement.classList.add("tabbed");
  select(all[0]);
}

// ---- The chat.

const messages = []; // as the API wants them
let answering = null; // AbortController of the answer on its way
let awaiting = 0; // tool results that are still to be given

const exampleTool = [{
  type: "function",
  function: {
    name: "get_weather",
    description: "Get the weather of a city",
    parameters: {
      type: "object",
      properties: { city: { type: "string", description: "The city" } },
      required: ["city"],
    },
  },
}];

function refreshButtons() {
  const ready = document.body.dataset.status === "ready";
  $("send").hidden = answering !== null;
  $("stop").hidden = answering === null;
  $("send").disabled = !ready || awaiting > 0 || !$("input").value.trim();
  $("new").hidden = messages.length === 0;
}

// follow keeps the end in view unless the reader has scrolled up.
function follow(change) {
  const log = $("log");
  const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 48;
  change();
  if (atEnd) log.scrollTop = log.scrollHeight;
}

// inline shows `code` and **bold**.
function inline(into, text) {
  for (const piece of text.split(/(`[^`\n]+`|\*\*[^*\n]+\*\*)/)) {
    if (/^`[^`]+`$/.test(piece)) into.append(make("code", "", piece.slice(1, -1)));
    else if (/^\*\*[^*]+\*\*$/.test(piece)) into.append(make("b", "", piece.slice(2, -2)));
    else if (piece) into.append(piece);
  }
}

// markdown shows fenced code as blocks and the rest as paragraphs.
function markdown(into, text) {
  into.replaceChildren();
  text.split(/^```/m).forEach((part, i) => {
    if (i % 2) {
      const pre = make("pre");
      pre.tabIndex = 0;
      pre.append(make("code", "", part.replace(/^[^\n]*\n?/, "").replace(/\n$/, "")));
      into.append(pre);
      return;
    }
    if (i) part = part.replace(/^[^\n]*\n?/, "");
    for (const paragraph of part.split(/\n{2,}/)) {
      if (!paragraph.trim()) continue;
      const p = make("p");
      inline(p, paragraph.replace(/^\n+|\n+$/g, ""));
      into.append(p);
    }
  });
}

// Answer is one reply being shown; it grows with the stream and is drawn once a frame.
class Answer {
  constructor() {
    this.content = "";
    this.reasoning = "";
    this.calls = [];
    this.begin = performance.now();
    this.root = make("div", "turn assistant streaming");
    this.wait = this.root.appendChild(make("div", "waiting"));
    follow(() => $("log").append(this.root));
  }

  delta(d) {
    if (!this.first && (d.content || d.reasoning_content || d.tool_calls)) this.first = performance.now();
    this.content += d.content || "";
    this.reasoning += d.reasoning_content || "";
    for (const piece of d.tool_calls || []) {
      const call = (this.calls[piece.index] ||= { id: "", type: "function", function: { name: "", arguments: "" } });
      call.id ||= piece.id || "";
      call.function.name += piece.function?.name || "";
      call.function.arguments += piece.function?.arguments || "";
    }
    this.frame ||= requestAnimationFrame(() => this.draw());
  }

  draw() {
    this.frame = 0;
    follow(() => {
      if (this.first) this.wait.remove();
      if (this.reasoning) {
        if (!this.thought) {
          this.thought = this.root.appendChild(make("details", "thought"));
          this.thought.open = true;
          this.thought.append(make("summary", "", "Thinking"), make("div"));
        }
        this.thought.lastChild.textContent = this.reasoning.trim();
        if (this.content || this.calls.length) this.thought.firstChild.textContent = "Thought";
      }
      if (this.content.trim()) {
        this.text ||= this.root.appendChild(make("div", "text"));
        markdown(this.text, this.content);
      }
      this.calls.forEach((call) => {
        if (!call.box) {
          call.box = this.root.appendChild(make("div", "call"));
          const header = make("header");
          header.append(make("b"));
          call.box.append(header, make("pre"));
        }
        call.box.querySelector("b").textContent = call.function.name;
        call.box.querySelector("pre").textContent = pretty(call.function.arguments);
      });
    });
  }

  end(problem, timings) {
    cancelAnimationFrame(this.frame);
    this.draw();
    this.root.classList.remove("streaming");
    this.wait.remove();
    if (this.thought && this.content) this.thought.open = false;
    follow(() => {
      if (problem) this.root.append(make("p", "failure", problem));
      const parts = [];
      if (timings) {
        parts.push(`${timings.decode_tokens} tokens`);
      if (timings.decode_tokens_per_second) parts.push(`${timings.decode_tokens_per_second.toFixed(1)}/s`);
        if (this.first) parts.push(`first after ${((this.first - this.begin) / 1000).toFixed(2)} s`);
        parts.push(`prompt ${timings.prefill_tokens} new, ${timings.cached_tokens} cached`);
      }
      if (parts.length) this.root.append(make("div", "meta", parts.join(" · ")));
    });
  }

  message() {
    const m = { role: "assistant", content: this.content };
    if (this.reasoning) m.reasoning_content = this.reasoning;
    if (this.calls.length) m.tool_calls = this.calls.map(({ id, type, function: f }) => ({ id, type, function: f }));
    return m;
  }
}

// pretty indents arguments that are complete.
function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function request() {
  const body = { model: document.body.dataset.model || undefined, stream: true, messages: [...messages] };
  const number = (id) => ($(id).value === "" ? undefined : Number($(id).value));
  body.temperature = number("temperature");
  body.max_completion_tokens = number("max-tokens");
  if ($("system").value.trim()) body.messages.unshift({ role: "system", content: $("system").value });
  if ($("tools").value.trim()) body.tools = JSON.parse($("tools").value);
  if (!$("thinking").checked) body.chat_template_kwargs = { enable_thinking: false };
  return body;
}

// events reads the data of server-sent events.
async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n\n");
    rest = parts.pop();
    for (const part of parts) if (part.startsWith("data: ")) yield part.slice(6);
  }
}

// answer asks for the next reply to the conversation.
async function answer() {
  let body;
  const shown = new Answer();
  try {
    body = JSON.stringify(request());
  } catch {
    shown.end("The tools are not valid JSON.");
    messages.pop();
    return;
  }
  const control = (answering = new AbortController());
  refreshButtons();
  let problem = "", timings, finish = "", whole = false;
  try {
    const res = await fetch("/v1/chat/completions", { method: "POST", headers: { "Content-Type": "application/json" }, body, signal: control.signal });
    if (!res.ok) throw new Error((await res.json()).error.message);
    for await (const data of events(res.body)) {
      if (data === "[DONE]") {
        whole = true;
        break;
      }
      const chunk = JSON.parse(data);
      if (chunk.error) throw new Error(chunk.error.message);
      timings = chunk.timings || timings;
      const choice = chunk.choices[0];
      if (!choice) continue;
      finish = choice.finish_reason || finish;
      shown.delta(choice.delta);
    }
    if (!whole) problem = "The answer broke off.";
  } catch (e) {
    problem = control.signal.aborted ? "Stopped." : e.message || String(e);
  }
  answering = null;
  if (finish === "length") problem = "The answer ended at the length limit.";
  shown.end(problem, timings);
  if (problem) shown.calls = []; // their arguments may be cut off
  messages.push(shown.message());
  if (shown.calls.length) askResults(shown.calls);
  refreshButtons();
  if (!shown.calls.length) $("input").focus();
}

// askResults puts a field under each call; when all are filled the model goes on.
function askResults(calls) {
  const results = calls.map((call) => ({ role: "tool", tool_call_id: call.id, content: null }));
  awaiting = calls.length;
  calls.forEach((call, i) => {
    const form = make("form", "result");
    const input = make("textarea");
    input.rows = 1;
    input.placeholder = "Result of the call";
    input.setAttribute("aria-label", "Result of " + call.function.name);
    const button = make("button", "quiet", "Give result");
    form.append(input, button);
    form.addEventListener("submit", (e) => {
      e.preventDefault();
      results[i].content = input.value;
      const output = make("pre", "output", input.value || "(empty)");
      form.replaceWith(output);
      if (--awaiting === 0) {
        messages.push(...results);
        answer();
      }
    });
    submitOnEnter(input, form);
    follow(() => call.box.append(form));
    if (i === 0) input.focus();
  });
}

function submitOnEnter(input, form) {
  const sends = (e) => e.key === "Enter" && !e.shiftKey && !e.isComposing;
  input.addEventListener("keydown", (e) => {
    if (sends(e)) {
      e.preventDefault();
      form.requestSubmit();
    }
  });
  input.addEventListener("keypress", (e) => sends(e) && e.preventDefault()); // some input methods send it all the same
}

function send() {
  const text = $("input").value.trim();
  if (!text || answering || awaiting || $("send").disabled) return;
  $("empty").hidden = true;
  follow(() => $("log").append(make("div", "turn user", text)));
  $("log").scrollTop = $("log").scrollHeight;
  $("input").value = "";
  grow();
  messages.push({ role: "user", content: text });
  answer();
}

function restart() {
  answering?.abort();
  messages.length = 0;
  awaiting = 0;
  for (const turn of [...$("log").querySelectorAll(".turn")]) turn.remove();
  $("empty").hidden = false;
  $("input").focus();
  setTimeout(() => {
    messages.length = 0; // an aborted answer adds itself once more
    refreshButtons();
  });
}

// grow fits the message field to its text.
function grow() {
  const input = $("input");
  input.style.height = "auto";
  input.style.height = input.scrollHeight + 2 + "px";
}

function start() {
  tabs();
  document.addEventListener("click", (e) => e.target.classList.contains("copy") && copy(e.target));
  $("composer").addEventListener("submit", (e) => {
    e.preventDefault();
    send();
  });
  submitOnEnter($("input"), $("composer"));
  $("input").addEventListener("input", () => {
    grow();
    refreshButtons();
  });
  $("stop").addEventListener("click", () => answering?.abort());
  $("new").addEventListener("click", restart);
  document.addEventListener("keydown", (e) => e.key === "Escape" && answering?.abort());
  $("example-tool").addEventListener("click", () => ($("tools").value = JSON.stringify(exampleTool, null, 2)));
  for (const idea of document.querySelectorAll(".idea")) {
    idea.addEventListener("click", () => {
      if (idea.dataset.tools && !$("tools").value.trim()) $("tools").value = JSON.stringify(exampleTool, null, 2);
      $("input").value = idea.textContent;
      refreshButtons();
      send();
    });
  }
  refreshButtons();
  poll();
  if (matchMedia("(hover: hover)").matches) $("input").focus();
}

start();
