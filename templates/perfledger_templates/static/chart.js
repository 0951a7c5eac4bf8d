// Fetches a series' points and draws them with uPlot in place of the drawing that the server made.
"use strict";

(async () => {
  const frame = document.getElementById("chart");
  const reading = document.getElementById("reading");
  const tools = document.getElementById("chart-tools");
  if (!frame || typeof uPlot === "undefined") return;

  const answer = await fetch(frame.dataset.points).catch(() => null);
  if (!answer || !answer.ok) return; // the server's drawing stays
  const data = await answer.json();
  const measured = [
    data.branch_center, data.branch_low, data.branch_high,
    data.head_center, data.head_low, data.head_high,
  ];
  const [BRANCH, BRANCH_LOW, BRANCH_HIGH, HEAD, HEAD_LOW, HEAD_HIGH] = [1, 2, 3, 4, 5, 6];
  const HEIGHT = 300;
  const scale = { relative: false, log: false };
  let columns = [];
  let chart = null;

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const reference = measured[0].find((value) => value != null) || measured[3].find((value) => value != null) || 1;
  const unit = () => (scale.relative ? "%" : data.unit);
  const figure = (value) => value == null ? "–" : `${Number(value.toPrecision(4))}\u00a0${unit()}`;
  const shown = (value) => value == null || !scale.relative ? value : (value / reference) * 100;
  const canBeLog = measured.every((column) => column.every((value) => value == null || value > 0));

  // A head belongs to a pull request and not to the line: its interval is a bar of its own.
  // So is that of a lone commit of the branch: a band needs two.
  function drawBars(u) {
    const { ctx } = u;
    const isLone = columns[BRANCH].filter((value) => value != null).length === 1;
    ctx.save();
    ctx.globalAlpha = 0.6;
    ctx.lineWidth = 2 * devicePixelRatio;
    columns[0].forEach((x, place) => {
      const isHead = columns[HEAD][place] != null;
      if (!isHead && !isLone) return;
      const low = columns[isHead ? HEAD_LOW : BRANCH_LOW][place];
      const high = columns[isHead ? HEAD_HIGH : BRANCH_HIGH][place];
      ctx.strokeStyle = colour(isHead ? "--head" : "--accent");
      const at = u.valToPos(x, "x", true);
      ctx.beginPath();
      ctx.moveTo(at, u.valToPos(low, "y", true));
      ctx.lineTo(at, u.valToPos(high, "y", true));
      ctx.stroke();
    });
    ctx.restore();
  }

  function clip(u) {
    const { ctx, bbox } = u;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    return ctx;
  }

  function drawMachines(u) {
    const ctx = clip(u);
    ctx.fillStyle = colour("--sunken");
    data.machines.forEach(([low, high]) => {
      const left = u.valToPos(low, "x", true);
      ctx.fillRect(left, u.bbox.top, u.valToPos(high, "x", true) - left, u.bbox.height);
    });
    ctx.restore();
  }

  function drawChanges(u) {
    const ctx = clip(u);
    ctx.strokeStyle = ctx.fillStyle = colour("--regressed");
    ctx.lineWidth = devicePixelRatio;
    ctx.font = `${12 * devicePixelRatio}px system-ui, sans-serif`;
    ctx.setLineDash([5 * devicePixelRatio, 3 * devicePixelRatio]);
    data.changes.forEach(({ x, label }) => {
      const at = u.valToPos(x, "x", true);
      ctx.beginPath();
      ctx.moveTo(at, u.bbox.top);
      ctx.lineTo(at, u.bbox.top + u.bbox.height);
      ctx.stroke();
      const isLate = at > u.bbox.left + u.bbox.width * 0.85;
      ctx.textAlign = isLate ? "right" : "left";
      ctx.fillText(label, at + (isLate ? -4 : 4) * devicePixelRatio, u.bbox.top + 13 * devicePixelRatio);
    });
    ctx.restore();
  }

  function read(u) {
    const place = u.cursor.idx;
    if (place == null) { reading.textContent = ""; return; }
    const side = columns[BRANCH][place] == null ? HEAD : BRANCH;
    const [center, low, high] = [0, 1, 2].map((offset) => columns[side + offset][place]);
    reading.textContent = `${data.labels[place]}: ${figure(center)} (${figure(low)} to ${figure(high)})`;
  }

  function xRange(u, min, max) {
    return columns[0].length === 1 ? [columns[0][0] - 0.5, columns[0][0] + 0.5] : [min - 0.5, max + 0.5];
  }

  function range(u, min, max) {
    if (scale.log) return [min / 1.1, max * 1.1];
    const room = (max - min) * 0.1 || Math.abs(max) * 0.1 || 1;
    return [min - room, max + room];
  }

  function openOnClick(u) {
    let downAt = null;
    u.over.addEventListener("mousedown", (event) => { downAt = event.clientX; });
    u.over.addEventListener("click", (event) => {
      const isDrag = downAt != null && Math.abs(event.clientX - downAt) > 3;
      if (!isDrag && u.cursor.idx != null) location.assign(data.links[u.cursor.idx]);
    });
  }

  function draw() {
    columns = [data.x, ...measured.map((column) => column.map(shown))];
    const accent = colour("--accent"), head = colour("--head"), paper = colour("--panel");
    const soft = colour("--soft"), line = colour("--line");
    const axis = { stroke: soft, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
    const edge = { stroke: "transparent", points: { show: false }, spanGaps: true };
    const options = {
      width: frame.clientWidth,
      height: HEIGHT,
      padding: [null, 48, null, null], // half of a hash, whose tick may be the last point
      legend: { show: false },
      cursor: { y: false, drag: { x: true, y: false } },
      scales: { x: { time: false, range: xRange }, y: { range, distr: scale.log ? 3 : 1 } },
      axes: [
        {
          ...axis,
          space: 110, // of a hash
          incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000],
          values: (u, places) => places.map((place) => data.commits[place] || ""),
        },
        { ...axis, size: 74, values: (u, values) => values.map((v) => v == null ? "" : `${Number(v.toPrecision(5))} ${unit()}`) },
      ],
      series: [
        {},
        { stroke: accent, width: 2, spanGaps: true, points: { show: true, size: 7, fill: accent, stroke: paper } },
        edge,
        edge,
        { stroke: head, paths: () => null, points: { show: true, size: 10, fill: head, stroke: paper } },
        { ...edge, paths: () => null },
        { ...edge, paths: () => null },
      ],
      bands: [{ series: [BRANCH_HIGH, BRANCH_LOW], fill: colour("--accent-soft") }],
      hooks: { drawClear: [drawMachines], draw: [drawBars, drawChanges], setCursor: [read], ready: [openOnClick] },
    };
    if (chart) chart.destroy();
    frame.replaceChildren();
    chart = new uPlot(options, columns, frame);
  }

  if (tools) {
    tools.hidden = false;
    tools.querySelectorAll("button").forEach((button) => {
      const name = button.dataset.scale;
      if (name === "log" && !canBeLog) button.hidden = true;
      button.addEventListener("click", () => {
        if (name in scale) {
          scale[name] = !scale[name];
          button.setAttribute("aria-pressed", String(scale[name]));
        }
        draw();
      });
    });
  }
  draw();
  new ResizeObserver(() => {
    if (chart && Math.abs(chart.width - frame.clientWidth) > 1) chart.setSize({ width: frame.clientWidth, height: HEIGHT });
  }).observe(frame);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
})();
