// Zooms into a part of the steps that the reader drags over; the links beside it do the same.
"use strict";

(() => {
  const SHORTEST = 5; // pixels: a shorter drag is a click

  function begin(event) {
    const frame = event.target.closest?.(".timelines .picture-frame");
    const svg = frame?.querySelector("svg");
    if (!svg || event.button !== 0 || event.pointerType === "touch") return;
    const { data, share } = axis(frame.closest(".timelines"), svg);
    const from = event.clientX;
    const shade = document.createElement("div");
    shade.className = "shade";
    frame.append(shade);
    frame.setPointerCapture(event.pointerId);
    event.preventDefault();

    const move = ({ clientX }) => {
      const left = frame.getBoundingClientRect().left - frame.scrollLeft;
      shade.style.left = `${Math.min(from, clientX) - left}px`;
      shade.style.width = `${Math.abs(clientX - from)}px`;
    };
    const end = ({ clientX, type }) => {
      frame.removeEventListener("pointermove", move);
      frame.removeEventListener("pointerup", end);
      frame.removeEventListener("pointercancel", end);
      shade.remove();
      if (type === "pointerup" && Math.abs(clientX - from) >= SHORTEST) show(frame, data, [from, clientX].map(share));
    };
    frame.addEventListener("pointermove", move);
    frame.addEventListener("pointerup", end);
    frame.addEventListener("pointercancel", end);
  }

  // How far along the time axis a position on the screen is, from 0 to 1.
  function axis(holder, svg) {
    const data = holder.dataset;
    const share = (clientX) => {
      const { left, width } = svg.getBoundingClientRect();
      const [low, high] = [Number(data.axisStart), Number(data.axisEnd)];
      return Math.min(1, Math.max(0, ((clientX - left) / width - low) / (high - low)));
    };
    return { data, share };
  }

  function show(frame, data, shares) {
    const [start, end] = [Number(data.start), Number(data.end)];
    const [low, high] = shares.sort((a, b) => a - b).map((one) => Math.round(start + one * (end - start)));
    if (high <= low) return;
    const address = `${data.link}&start_us=${low}&end_us=${high}`;
    const holder = frame.closest(".timelines");
    if (window.htmx) window.htmx.ajax("GET", address, { source: holder, target: holder, select: ".timelines", swap: "outerHTML" });
    else location.assign(address);
  }

  const hint = () => document.querySelectorAll(".timelines .drag").forEach((one) => { one.hidden = false; });
  addEventListener("pointerdown", begin);
  addEventListener("htmx:afterSettle", hint);
  hint();
})();
