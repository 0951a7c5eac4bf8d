// Hands profiled steps over to Perfetto's UI, in a tab that the reader's own browser opens.
//
// The protocol is Perfetto's, "Deep linking to the Perfetto UI" (docs/visualization/
// deep-linking-to-perfetto-ui.md of google/perfetto): open its window, say PING until it answers
// PONG, then post { perfetto: { buffer, title, fileName } } once. Perfetto asks the reader whether
// to trust this site, and keeps the steps in the browser.
"use strict";

(() => {
  const PERFETTO = "https://ui.perfetto.dev";
  const PING_MS = 100;
  const PATIENCE_MS = 60_000;

  async function handOver(step, say) {
    const tab = window.open(PERFETTO); // at once: a browser opens tabs only on a click
    if (!tab) {
      say("The browser opened no tab: allow this site to open one, and click again.");
      return;
    }
    const loaded = await fetch(step.steps).catch(() => null);
    if (!loaded?.ok) {
      say("The steps could not be loaded: reload this page, and click again.");
      tab.close();
      return;
    }
    const buffer = await loaded.arrayBuffer();
    const stop = () => {
      clearInterval(pinging);
      clearTimeout(giveUp);
      removeEventListener("message", answer);
    };
    const answer = (event) => {
      if (event.source !== tab || event.origin !== PERFETTO || event.data !== "PONG") return;
      stop();
      const perfetto = { buffer, title: step.title, fileName: "perfledger-steps.json" };
      tab.postMessage({ perfetto }, PERFETTO, [buffer]);
      say("Handed over.");
    };
    addEventListener("message", answer);
    // To any origin: until Perfetto is loaded the tab has none, and the word gives nothing away.
    const pinging = setInterval(() => tab.postMessage("PING", "*"), PING_MS);
    const giveUp = setTimeout(() => {
      stop();
      say("Perfetto did not answer: is ui.perfetto.dev within reach?");
    }, PATIENCE_MS);
  }

  for (const section of document.querySelectorAll(".hand-over")) {
    const button = section.querySelector("button");
    const output = section.querySelector("output");
    button.addEventListener("click", () => handOver(button.dataset, (text) => { output.textContent = text; }));
    section.hidden = false;
  }
})();
