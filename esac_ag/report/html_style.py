"""The style sheet of a study's report: light and dark, narrow windows, paper; no external resource.

The colours of arms are those of Okabe and Ito ("Color universal design", 2008), darkened or lightened so far
that marks stand out from the background by 3 to 1; every arm has a shape and a label besides.
"""

from __future__ import annotations

from typing import Final

_LIGHT: Final = """\
  --back: #ffffff; --text: #1c1e21; --soft: #565d65; --line: #c9ced5; --panel: #f3f5f8; --link: #0b57a4;
  --good: #17683f; --bad: #a52a1d; --warn: #8a5f00; --focus: #0b57a4; --mark: #fff3bf;
  --a0: #0072b2; --a1: #c44f00; --a2: #007f5c; --a3: #a6517f; --a4: #5c5c5c; --a5: #8a6a00;
"""
_DARK: Final = """\
  --back: #15171a; --text: #e7e9ec; --soft: #a9b0b8; --line: #41474e; --panel: #1f2327; --link: #7cb8f5;
  --good: #5cc392; --bad: #f28b7d; --warn: #e0b04a; --focus: #9bcaff; --mark: #4a4013;
  --a0: #56b4e9; --a1: #f0883e; --a2: #33c496; --a3: #dd9dc0; --a4: #b9b9b9; --a5: #e6c229;
"""

REPORT_STYLE: Final = (
    ":root {\n  color-scheme: light dark;\n"
    + _LIGHT
    + "}\n@media screen and (prefers-color-scheme: dark) { :root {\n"
    + _DARK
    + "} }\n"
    + """\
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { margin: 0 auto; max-width: 80rem; padding: 1.25rem; background: var(--back); color: var(--text);
  font: 1rem/1.55 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: .3rem 0; }
h2 { font-size: 1.3rem; margin: 2.5rem 0 .6rem; padding-top: .6rem; border-top: 2px solid var(--line); }
h3 { font-size: 1.08rem; margin: 1.6rem 0 .5rem; }
p, ul, ol, figcaption { max-width: 70ch; }
a { color: var(--link); }
:focus-visible { outline: 3px solid var(--focus); outline-offset: 2px; }
:target { background: var(--mark); }
section:target, tbody:target, h2:target, h3:target { background: none; }
tbody:target > tr:first-child, h3:target { background: var(--mark); }
code { font: .88em/1.4 ui-monospace, monospace; word-break: break-all; }
.skip { position: absolute; left: -100rem; }
.skip:focus { position: static; }
.soft { color: var(--soft); }
.answer { font-size: 1.15rem; font-weight: 600; }
.conclusion::first-letter { text-transform: uppercase; }
.notice { background: var(--panel); border-left: 5px solid var(--warn); margin: .5rem 0;
  padding: .5rem .8rem; }
nav ol { columns: 16rem; column-gap: 2rem; max-width: none; padding-left: 1.6rem; }
nav li { break-inside: avoid; padding: .1rem 0; }
figure { margin: 1.2rem 0; }
figcaption, caption { font-weight: 600; text-align: left; padding: .3rem 0; }
.scroll { overflow-x: auto; margin: .4rem 0 1rem; }
table { border-collapse: collapse; font-size: .92rem; overflow-wrap: normal; }
th, td { border-bottom: 1px solid var(--line); padding: .3rem .7rem .3rem 0; text-align: left;
  vertical-align: top; max-width: 34rem; }
thead th { color: var(--soft); vertical-align: bottom; border-bottom-width: 2px; }
tbody th { font-weight: 500; }
tbody + tbody { border-top: 2px solid var(--line); }
td.num, th.num { font-variant-numeric: tabular-nums; } .short { white-space: nowrap; }
td ul { margin: 0; padding-left: 1.1rem; }
.good { color: var(--good); } .bad { color: var(--bad); font-weight: 600; }
.chart { display: block; width: 100%; min-width: 52rem; height: auto; }
.chart text { fill: var(--text); font: 14px system-ui, sans-serif; }
.chart .name { font-weight: 600; } .chart .soft, .chart .tick, .chart .gap-words { font-size: 12.5px; }
.chart .soft, .chart .tick { fill: var(--soft); }
.chart .gap-words { fill: var(--text); font-style: italic; paint-order: stroke; stroke: var(--back);
  stroke-width: 5px; }
.chart .grid { stroke: var(--line); stroke-width: 1; } .chart .rule { stroke: var(--line); stroke-width: 2; }
.chart .zero { stroke: var(--text); stroke-width: 2; }
.chart .band { fill: var(--panel); } .chart .bound { stroke: var(--soft); stroke-dasharray: 6 4; }
.chart .gap { stroke: var(--soft); stroke-dasharray: 2 6; fill: none; }
.chart .untouched { stroke: var(--text); stroke-width: 2.5; stroke-dasharray: 2 3; fill: none; }
.chart .cross { stroke: var(--text); }
.chart path { fill: none; stroke-width: 2.5; } .chart path.thick { stroke-width: 4; }
.chart path.range, .chart path.sd { stroke-width: 1.5; } .chart .mean { stroke-width: 3; }
.arm-0 { fill: var(--a0); } .arm-1 { fill: var(--a1); } .arm-2 { fill: var(--a2); }
.arm-3 { fill: var(--a3); } .arm-4 { fill: var(--a4); } .arm-5 { fill: var(--a5); }
.line-0, .hollow.arm-0 { stroke: var(--a0); } .line-1, .hollow.arm-1 { stroke: var(--a1); }
.line-2, .hollow.arm-2 { stroke: var(--a2); } .line-3, .hollow.arm-3 { stroke: var(--a3); }
.line-4, .hollow.arm-4 { stroke: var(--a4); } .line-5, .hollow.arm-5 { stroke: var(--a5); }
.chart circle, .chart polygon { stroke-width: 1; }
.chart circle:not(.hollow), .chart polygon:not(.hollow) { stroke: var(--back); }
.chart .hollow { fill: var(--back); stroke-width: 2; }
.chart a:hover { opacity: .6; }
@media (max-width: 40rem) {
  body { padding: .8rem; }
  th, td { max-width: 14rem; } .long { min-width: 12rem; }
}
@media print {
  @page { margin: 14mm; }
  @page turned { size: A4 landscape; margin: 10mm; }
  body { max-width: none; padding: 0; font-size: 9.5pt; }
  .turned { page: turned; }
  .turned table { font-size: 6.8pt; }
  .skip { display: none; }
  nav ol { columns: 2; }
  .scroll { overflow: visible; }
  .chart { min-width: 0; }
  table { font-size: 7.6pt; overflow-wrap: break-word; width: 100%; }
  th, td { padding-right: .35rem; max-width: none; }
  thead { display: table-header-group; }
  tr, figure, .notice { break-inside: avoid; }
  h2, h3, caption, figcaption { break-after: avoid; }
  a { color: inherit; text-decoration: none; }
  .notice { background: none; border: 1px solid var(--text); border-left-width: 5px; }
  .chart .band { fill: none; }
}
"""
)
