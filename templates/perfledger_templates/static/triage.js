// Keys of the events on a project's page: each leads somewhere or opens a form, and sends nothing.
"use strict";

(() => {
  const events = [...document.querySelectorAll("article.event")];
  if (!events.length) return;

  function current() {
    return events.findIndex((event) => event.contains(document.activeElement));
  }

  function go(place) {
    events[Math.min(Math.max(place, 0), events.length - 1)].focus();
  }

  function open(field, value) {
    const form = events[Math.max(current(), 0)].querySelector("details.decide");
    if (!form) return;
    form.open = true;
    const target = form.querySelector(field);
    if (value) form.querySelector("select[name=state]").value = value;
    target.focus();
  }

  const actions = {
    j: () => go(current() + 1),
    k: () => go(current() - 1),
    o: () => events[Math.max(current(), 0)].querySelector(".event-link")?.click(),
    a: () => open("input[name=reason]", "acknowledged"),
    e: () => open("input[name=reason]", "expected"),
    m: () => open("button[value=rerun]"),
    b: () => open("button[value=bisection]"),
  };

  // A decision leads back to its event, from which j and k go on.
  events.find((event) => `#${event.id}` === location.hash)?.focus();

  addEventListener("keydown", (event) => {
    const isModified = event.ctrlKey || event.metaKey || event.altKey;
    const isField = event.target.closest?.("input, select, textarea, [contenteditable]");
    if (isModified || isField || !Object.hasOwn(actions, event.key)) return;
    event.preventDefault();
    actions[event.key]();
  });
})();
