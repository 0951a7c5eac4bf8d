// Leads to the search box when "/" is pressed outside of a field.
"use strict";

(() => {
  const box = document.getElementById("search");
  if (!box) return;
  addEventListener("keydown", (event) => {
    const isModified = event.ctrlKey || event.metaKey || event.altKey;
    const isField = event.target.closest?.("input, select, textarea, [contenteditable]");
    if (event.key !== "/" || isModified || isField) return;
    event.preventDefault();
    box.focus();
    box.select();
  });
})();
