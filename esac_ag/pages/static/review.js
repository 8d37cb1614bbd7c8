// A packet's form with a script: saves by itself, takes links from the diff, knows some keys.
// Without this file everything can be done by Save and Submit. Texts go into the page as text only.
"use strict";

const form = document.getElementById("review");
const state = document.getElementById("state");
const status = document.getElementById("status");
const alarm = document.getElementById("alarm");
const PAUSE_MS = 1200;
const RETRY_MS = 5000;
const MOST_KEEPALIVE_BYTES = 60000; // browsers refuse 64 KiB and more

// ---- saving

let dirty = false;
let saving = null;
let timer = 0;
let stopped = form.hasAttribute("data-conflict");
let leaving = false;

function entries() {
  return new URLSearchParams(new FormData(form));
}

function changed() {
  dirty = true;
  if (stopped) return;
  state.textContent = "Not saved yet.";
  clearTimeout(timer);
  timer = setTimeout(save, PAUSE_MS);
}

// One request at a time: each is made of the form that the one before it saved.
async function save() {
  clearTimeout(timer);
  while (saving) await saving;
  if (!dirty || stopped) return !dirty;
  saving = send();
  try {
    return await saving;
  } finally {
    saving = null;
  }
}

async function send() {
  dirty = false;
  const body = entries().toString();
  let answer;
  try {
    answer = await fetch(form.dataset.draft, {
      method: "POST",
      headers: { "x-csrf": form.elements.csrf.value, "content-type": "application/x-www-form-urlencoded" },
      body,
      keepalive: body.length < MOST_KEEPALIVE_BYTES,
    });
  } catch {
    return failed("the server does not answer. It may have ended", true);
  }
  let told;
  try {
    told = await answer.json();
  } catch {
    return failed(`the server answered ${answer.status}`, answer.status >= 500);
  }
  if (told.changed) return conflict();
  if (!answer.ok) return failed(told.problem, answer.status >= 500);
  form.elements.revision.value = told.revision;
  alarm.replaceChildren();
  if (!dirty) state.textContent = told.submitted ? "Submitted." : saved(told);
  return true;
}

function saved(told) {
  if (told.contradicts) return "Saved. You say that there is no critical failure, and name one: what you named counts.";
  if (told.lacking === 0) return "Saved. Nothing is missing: you can submit.";
  return `Saved. ${told.lacking} ${told.lacking === 1 ? "thing is" : "things are"} missing.`;
}

function failed(why, again) {
  dirty = true;
  state.textContent = "Not saved.";
  const text = `Not saved: ${why}. What you wrote is still in this page: keep it open` +
    (again ? "; it is tried again." : ", and correct it.");
  if (alarm.firstChild?.textContent !== text) {
    const retry = document.createElement("button");
    retry.type = "button";
    retry.textContent = "Save again";
    retry.addEventListener("click", save);
    const line = document.createElement("p");
    line.textContent = text;
    alarm.replaceChildren(line, retry);
  }
  if (again && !leaving) timer = setTimeout(save, RETRY_MS);
  return false;
}

function conflict() {
  dirty = true;
  stopped = true;
  state.textContent = "Not saved.";
  const line = document.createElement("p");
  line.textContent = "Not saved: this form was saved in another tab, window or import meanwhile. " +
    "Nothing was written over it, and nothing is saved here any more until you decide.";
  const both = document.createElement("button");
  both.textContent = "Show both";
  both.name = "do";
  both.value = "save";
  alarm.replaceChildren(line, both);
  return false;
}

form.addEventListener("input", changed);
form.addEventListener("change", changed);
form.addEventListener("submit", async (event) => {
  const pressed = event.submitter;
  if (stopped) {
    dirty = false; // the page that comes shows what is entered here
    return;
  }
  if (leaving) return;
  event.preventDefault();
  const isSubmit = pressed?.value === "submit";
  dirty = dirty || !isSubmit;
  if (!(await save())) return;
  if (!isSubmit) {
    say("Saved.");
    return;
  }
  leaving = true;
  form.requestSubmit(pressed);
});
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "hidden") save();
});
window.addEventListener("pagehide", () => {
  save();
});
window.addEventListener("beforeunload", (event) => {
  // A text that the server has not got yet is sent; only one that cannot be sent needs a question.
  if (!leaving && dirty && alarm.childElementCount) event.preventDefault();
});

function say(text) {
  status.textContent = "";
  requestAnimationFrame(() => {
    status.textContent = text;
  });
}

// ---- rows of evidence

let active = null;
let worked = null;

function choose(row) {
  if (active === row) return;
  active?.classList.remove("active");
  active = row;
  row?.classList.add("active");
}

function titleOf(row) {
  return row.getAttribute("aria-label");
}

// A row's fields have its number in their names: `scores-scope-evidence-1-text`, `critical-0-evidence-link`.
function renumbered(text, from, to) {
  return text.replace(new RegExp(`-${from}(-(?:evidence-)?(?:type|text|link)(?:-fault)?)$`), `-${to}$1`);
}

function addRow(rows) {
  const last = rows.lastElementChild;
  const number = rows.childElementCount;
  const row = last.cloneNode(true);
  row.classList.remove("active");
  for (const extra of row.querySelectorAll(".fault, .seen")) extra.remove();
  for (const one of row.querySelectorAll("*")) {
    one.removeAttribute("aria-invalid");
    one.removeAttribute("aria-describedby");
    for (const name of ["id", "name", "for"]) {
      const value = one.getAttribute(name);
      if (value) one.setAttribute(name, renumbered(value, number - 1, number));
    }
    if ("value" in one && one.tagName !== "OPTION") one.value = "";
  }
  for (const label of row.querySelectorAll("label")) {
    label.textContent = label.textContent.replace(/\d+$/, String(number + 1));
  }
  row.setAttribute("aria-label", titleOf(last).replace(/\d+$/, String(number + 1)));
  rows.append(row);
  return row;
}

for (const button of form.querySelectorAll(".more")) {
  button.hidden = false;
  button.addEventListener("click", () => {
    const row = addRow(button.parentElement.querySelector(".rows"));
    row.querySelector("select, textarea").focus();
  });
}
form.addEventListener("focusin", (event) => {
  worked = event.target;
  const row = event.target.closest(".row");
  if (row) choose(row);
});

// ---- links of lines, commands, claims

const places = [...document.querySelectorAll("[data-place]")];

function take(place) {
  if (!active) {
    say("Go to a deduction of the form first, then choose a line for it.");
    return false;
  }
  const field = active.querySelector("input[name$=link]");
  field.value = place.dataset.place;
  field.dispatchEvent(new Event("input", { bubbles: true }));
  document.querySelector(".linked")?.classList.remove("linked");
  place.classList.add("linked");
  field.focus();
  say(`${place.dataset.place} is the link of ${titleOf(active)}.`);
  return true;
}

document.addEventListener("click", (event) => {
  const place = event.target.closest?.("[data-place]");
  if (place && !event.ctrlKey && !event.metaKey && !event.shiftKey && take(place)) event.preventDefault();
});

// One number of each file can be reached by Tab; arrows lead from there to the others.
const files = [...document.querySelectorAll("details.file")];
for (const file of files) file.querySelector("[data-place]")?.setAttribute("tabindex", "0");

function go(place) {
  for (const fold of ancestors(place, "details")) fold.open = true;
  const file = place.closest(".file");
  file?.querySelector('[data-place][tabindex="0"]')?.setAttribute("tabindex", "-1");
  if (file) place.setAttribute("tabindex", "0");
  place.focus();
}

function* ancestors(element, selector) {
  for (let at = element.closest(selector); at; at = at.parentElement.closest(selector)) yield at;
}

function beside(place, step) {
  const all = [...place.closest(".file").querySelectorAll("[data-place]")];
  return all[all.indexOf(place) + step];
}

// A link into a folded part opens it.
function openTarget() {
  const target = document.getElementById(location.hash.slice(1));
  if (!target) return;
  for (const fold of ancestors(target, "details")) fold.open = true;
  target.scrollIntoView({ block: "center" });
}
window.addEventListener("hashchange", openTarget);
openTarget();

// ---- keys

const keys = document.querySelector(".keys");
const keysOn = document.getElementById("keys-on");
keys.hidden = false;
try {
  keysOn.checked = localStorage.getItem("keys") !== "off";
} catch {
  // A browser that keeps nothing: the choice holds for this page.
}
for (const kind of ["input", "change"]) {
  keysOn.addEventListener(kind, (event) => event.stopPropagation()); // no entry of the form
}
keysOn.addEventListener("change", () => {
  try {
    localStorage.setItem("keys", keysOn.checked ? "on" : "off");
  } catch {
    // As above.
  }
});

function isTyping(element) {
  return element.matches("textarea, select, input:not([type=radio]):not([type=checkbox])");
}

function nextFile(step) {
  if (!files.length) return;
  const at = files.findIndex((file) => file.contains(document.activeElement));
  const to = at < 0 ? (step > 0 ? 0 : files.length - 1) : Math.min(files.length - 1, Math.max(0, at + step));
  files[to].querySelector("summary").focus();
  files[to].scrollIntoView({ block: "start" });
}

const does = {
  j: () => nextFile(1),
  k: () => nextFile(-1),
  f: () => (worked ?? form.querySelector("input[type=radio]")).focus(),
  s: () => form.requestSubmit(form.querySelector("[value=save]")),
  n: () => document.querySelector("[rel=next]")?.click(),
  p: () => document.querySelector("[rel=prev]")?.click(),
};

document.addEventListener("keydown", (event) => {
  const at = event.target;
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || !(at instanceof Element)) return;
  if (at.matches(".lines [data-place]") && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
    const to = beside(at, event.key === "ArrowDown" ? 1 : -1);
    if (to) go(to);
    event.preventDefault();
    return;
  }
  if (at.matches(".lines [data-place]:not([href])") && event.key === "Enter") {
    take(at);
    return;
  }
  if (!keysOn.checked || isTyping(at)) return;
  if (/^[0-4]$/.test(event.key)) {
    const choice = at.closest(".scale")?.querySelector(`input[type=radio][value="${event.key}"]`);
    if (choice) {
      choice.focus();
      choice.click();
      event.preventDefault();
    }
  } else if (Object.hasOwn(does, event.key)) {
    does[event.key]();
    event.preventDefault();
  }
});
