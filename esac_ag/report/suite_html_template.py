"""The pages' templates (Jinja, autoescaped)."""

from __future__ import annotations

from typing import Final

HEAD: Final = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy"
content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<title>{{ title }}</title>
<style>
{{ style }}</style>
</head>
"""
"""What every page begins with; its policy forbids what no page needs."""

PAGE: Final = (
    HEAD
    + """\
<body>
<header>
<h1>{{ view.header.version_tag }}</h1>
<p class="verdict {{ tone }}">{{ view.decision.verdict }}</p>
<p><strong>{{ total }}</strong> <span class="soft">{{ view.header.model }}</span></p>
<ul>
{% for reason in view.decision.reasons %}
<li>{{ reason }}</li>
{% endfor %}
</ul>
{% for notice in view.notices %}
<p class="notice">{{ notice }}</p>
{% endfor %}
</header>
<main>
<h2>Categories</h2>
<div class="charts">
<figure>
{{ bar }}
</figure>
<figure>
{{ radar }}
</figure>
</div>
<div class="wide">
<table>
<thead><tr><th>Category</th><th>Points</th><th>Share</th><th>Items full</th><th>partial</th><th>none</th>\
<th>not run</th><th>Gate 60 %</th></tr></thead>
<tbody>
{% for row in view.categories %}
<tr><td>{{ row.title }}</td><td>{{ earned(row.earned, row.points) }}</td><td>{{ category_percent(row) }}</td>\
<td>{{ row.counts.full }}</td><td>{{ row.counts.partial }}</td><td>{{ row.counts.none }}</td>\
<td>{{ row.counts.not_run }}</td><td>{{ gate_words(row) }}</td></tr>
{% endfor %}
</tbody>
</table>
</div>
<p>Efficiency modifier: {{ modifier }}</p>
<h2>The run</h2>
<div class="wide">
<table>
<tbody>
{% for name, value in facts %}
<tr><th scope="row">{{ name }}</th><td>{{ value }}</td></tr>
{% endfor %}
</tbody>
</table>
</div>
<h2>Items</h2>
{% for item in view.items %}
<details id="{{ item.id }}">
<summary>{{ item.id }}: {{ item_words(item) }} <span class="soft">{{ item.title }}</span></summary>
<p>{{ item.measures }}</p>
{% set spread = spread_words(item) %}
{% if spread %}
<p>{{ spread }}</p>
{% endif %}
{% for run in item.runs %}
<p>{{ run_words(item, run) }}</p>
{% if run.checks or run.judgments %}
<div class="wide">
<table>
<thead><tr><th>Kind</th><th>Check</th><th>Weight</th><th>Result</th><th>Why</th></tr></thead>
<tbody>
{% for check in run.checks %}
<tr><td>check</td><td>{{ check.id }}</td><td>{{ percent(100 * check.share) }}</td>\
<td>{{ percent(100 * check.fraction) }}</td><td>{{ why_words(check) }}</td></tr>
{% endfor %}
{% for judgment in run.judgments %}
{% set kind = judgment_words(loop.index, judgment) %}
{% for check in judgment.criteria %}
<tr><td>{{ kind }}</td><td>{{ check.id }}</td><td>{{ percent(100 * check.share) }}</td>\
<td>{{ percent(100 * check.fraction) }}</td><td>{{ why_words(check) }}</td></tr>
{% endfor %}
{% endfor %}
</tbody>
</table>
</div>
{% endif %}
{% if run.calls %}
<div class="wide">
<table>
<thead><tr><th>Call</th><th>Result</th><th>Changed the state</th><th>Tool</th><th>Arguments</th></tr></thead>
<tbody>
{% for call in run.calls %}
<tr><td>{{ call.index + 1 }}</td><td>{{ "ok" if call.ok else call.error or "error" }}</td>\
<td>{{ "yes" if call.changed_state else "no" }}</td><td>{{ call.tool or "" }}</td>\
<td>{{ call.arguments or "" }}</td></tr>
{% endfor %}
</tbody>
</table>
</div>
{% endif %}
{% if run.final_text %}
<pre>{% for line in run.final_text.split("\\n") %}\
{{ line }}{% if not loop.last %}&#10;{% endif %}{% endfor %}</pre>
{% endif %}
{% endfor %}
</details>
{% endfor %}
</main>
</body>
</html>
"""
)

ARMS_PAGE: Final = (
    HEAD
    + """\
<body>
<header>
<h1>{{ title }}</h1>
{% for arm in arms.arms %}
<p class="{{ tones[arm.effect] }}"><strong>{{ arm.answer }}</strong></p>
{% endfor %}
{% for notice in arms.notices %}
<p class="notice">{{ notice }}</p>
{% endfor %}
</header>
<main>
{% for arm in arms.arms %}
<h2>{{ arm.arm }} beside {{ arm.control }}</h2>
<ul>
{% for line in arm.words %}
<li>{{ line }}</li>
{% endfor %}
{% for side in (arm.figures.a, arm.figures.b) %}
<li>{{ side.name }}: {{ side_words(side) }}</li>
{% endfor %}
</ul>
{% for warning in arm.figures.warnings %}
<p class="notice">{{ warning }}</p>
{% endfor %}
{% set rows = comparison_table(arm.figures) %}
<div class="wide">
<table>
<thead><tr>{% for cell in rows[0] %}<th>{{ cell }}</th>{% endfor %}</tr></thead>
<tbody>
{% for row in rows[1:] %}
<tr>{% for cell in row %}<td>{{ cell }}</td>{% endfor %}</tr>
{% endfor %}
</tbody>
</table>
</div>
{% endfor %}
</main>
</body>
</html>
"""
)
