"""The style sheet of the page: light and dark, without a single external resource."""

from __future__ import annotations

from typing import Final

STYLE: Final = """\
:root {
  color-scheme: light dark;
  --back: #ffffff; --text: #1c1e21; --soft: #5b6168; --line: #cfd4da; --panel: #f4f6f8;
  --good: #1f7a4d; --bad: #b3372b; --open: #6b7280; --edge: #1d5fa8; --gate: #9a6a00;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #16181b; --text: #e6e8ea; --soft: #a2a9b1; --line: #3b4047; --panel: #1f2226;
    --good: #4cb782; --bad: #ef7d70; --open: #9aa1ab; --edge: #6caef5; --gate: #e0b04a;
  }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 76rem; padding: 1.5rem; background: var(--back); color: var(--text);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.25rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
.verdict { font-size: 2rem; font-weight: 700; }
.verdict.good { color: var(--good); } .verdict.bad { color: var(--bad); }
.verdict.open { color: var(--open); }
.effect.good { color: var(--good); } .effect.bad { color: var(--bad); } .effect.open { color: var(--open); }
.notice { background: var(--panel); border-left: 4px solid var(--gate); margin: .4rem 0;
  padding: .4rem .8rem; }
.charts { display: flex; flex-wrap: wrap; gap: 1rem; }
.charts figure { flex: 1 1 30rem; margin: 0; }
.chart { width: 100%; height: auto; }
.chart text { fill: var(--text); font: 14px system-ui, sans-serif; } .chart .small { font-size: 12px; }
.track { fill: var(--panel); stroke: var(--line); }
.good { fill: var(--good); } .bad { fill: var(--bad); } .open { fill: var(--open); }
.gap { fill: none; stroke: var(--soft); stroke-dasharray: 4 4; }
.gate { stroke: var(--gate); stroke-dasharray: 6 3; fill: none; stroke-width: 1.5; }
.ring { fill: none; stroke: var(--line); } .gate.ring { stroke: var(--gate); }
.axis { stroke: var(--line); } .axis.missing { stroke-dasharray: 2 5; }
.area { fill: var(--edge); fill-opacity: .18; } .edge { stroke: var(--edge); stroke-width: 2; }
.dot { fill: var(--edge); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th, td { border-bottom: 1px solid var(--line); padding: .3rem .6rem; text-align: left; vertical-align: top; }
td { overflow-wrap: break-word; }
th { color: var(--soft); font-weight: 600; }
details { border: 1px solid var(--line); border-radius: 6px; margin: .4rem 0; padding: .4rem .8rem; }
summary { cursor: pointer; }
pre { background: var(--panel); margin: .4rem 0; padding: .6rem; white-space: pre-wrap;
  overflow-wrap: anywhere; }
.soft { color: var(--soft); }
"""
