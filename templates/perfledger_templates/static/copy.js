// Gives commands a button that copies them.
"use strict";

(() => {
  // Browsers keep the clipboard from pages without HTTPS, and people may forbid it; a selection can
  // be copied everywhere, and stays for the reader's own keys if not.
  async function copy(command) {
    try {
      await navigator.clipboard.writeText(command.textContent);
      return true;
    } catch {
      getSelection().selectAllChildren(command);
      return document.execCommand("copy");
    }
  }

  for (const command of document.querySelectorAll(".typed")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.setAttribute("aria-label", `Copy ${command.textContent.trim().slice(0, 60)}`);
    button.addEventListener("click", async () => {
      if (!(await copy(command))) return;
      button.textContent = "Copied";
      button.setAttribute("aria-label", "Copied");
    });
    // After the punctuation that follows the command.
    const text = command.nextSibling;
    const isMark = text?.nodeType === Node.TEXT_NODE && /^[.,;:]/.test(text.data);
    if (isMark) text.splitText(1);
    (isMark ? text : command).after(button);
  }
})();
