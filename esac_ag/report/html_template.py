"""The template of a study's report (Jinja, autoescaped)."""

from __future__ import annotations

from typing import Final

from esac_ag.report.suite_html_template import HEAD

REPORT_PAGE: Final = (
    """\
{% macro content(cell) %}
{% if cell.href %}<a href="{{ cell.href }}">{% endif %}
{% if cell.code %}<code>{{ cell.text }}</code>{% else %}{{ cell.text }}{% endif %}
{% if cell.href %}</a>{% endif %}
{% if cell.lines %}<ul>{% for line in cell.lines %}<li>{{ line }}</li>{% endfor %}</ul>{% endif %}
{% for link in cell.links %} {% if link.href %}<a href="{{ link.href }}">{{ link.text }}</a>\
{% else %}{{ link.text }}{% endif %}{% endfor %}
{% endmacro %}
{% macro kind(cell) %}
{% if cell.kinds %} class="{{ cell.kinds }}"{% endif %}
{% endmacro %}
{% macro table(block) %}
<div class="scroll" role="group" aria-label="{{ block.text }}" tabindex="0">
<table>
<caption>{{ block.text }}</caption>
<thead><tr>{% for cell in block.items %}<th scope="col">{{ cell.text }}</th>{% endfor %}</tr></thead>
{% for place, rows in block.groups %}
<tbody{% if place %} id="{{ place }}"{% endif %}>
{% for row in rows %}
<tr{% if row.id %} id="{{ row.id }}"{% endif %}>{% for cell in row.cells %}
{% if loop.first %}<th scope="row"{{ kind(cell) }}>{{ content(cell) }}</th>\
{% else %}<td{{ kind(cell) }}>{{ content(cell) }}</td>{% endif %}
{% endfor %}</tr>
{% endfor %}
</tbody>
{% endfor %}
</table>
</div>
{% endmacro %}
"""
    + HEAD
    + """\
<body>
<a class="skip" href="#answer">To the answer</a>
<header>
<h1>{{ title }}</h1>
<p class="soft">{{ view.header.agent_kind }} agent, {{ view.header.phase }}; {{ view.header.model.name }} \
{{ view.header.model.version }}</p>
</header>
<nav aria-label="Contents">
<ol>
<li><a href="#answer">Notices and the answer</a></li>
{% for section in sections %}
<li><a href="#{{ section.id }}">{{ section.title }}</a></li>
{% endfor %}
</ol>
</nav>
<main>
<section id="answer" aria-labelledby="answer-h">
<h2 id="answer-h">Notices and the answer</h2>
{% if view.revision %}
<p class="notice"><a href="#corrections">Revision {{ view.revision.number }}</a> of {{ view.revision.at }}: \
{{ view.revision.reason }}</p>
{% endif %}
{% for notice in view.notices %}
<p class="notice">{{ notice }}</p>
{% endfor %}
<p class="answer">{{ view.answer }}</p>
{% if decided %}
<p><strong><a href="#decision">Decision</a> on {{ decided.arm }}: {{ verdict }}.</strong></p>
<p class="conclusion">{{ decided.conclusion }}</p>
{% endif %}
</section>
{% for section in sections %}
<section id="{{ section.id }}" aria-labelledby="{{ section.id }}-h"\
{% if section.blocks|selectattr("wide")|list %} class="turned"{% endif %}>
<h2 id="{{ section.id }}-h">{{ section.title }}</h2>
{% for block in section.blocks %}
{% if block.kind == "paragraph" %}
<p>{{ block.text }}</p>
{% elif block.kind == "notice" %}
<p class="notice">{{ block.text }}</p>
{% elif block.kind == "heading" %}
<h3{% if block.id %} id="{{ block.id }}"{% endif %}>{{ block.text }}</h3>
{% elif block.kind == "list" %}
<ul>
{% for item in block.items %}
<li>{{ content(item) }}</li>
{% endfor %}
</ul>
{% elif block.kind == "table" %}
{{ table(block) }}
{% elif block.kind == "plot" %}
<figure>
<figcaption>{{ block.text }}</figcaption>
<div class="scroll" role="group" aria-label="{{ block.text }}" tabindex="0">
{{ block.plot }}
</div>
</figure>
{% endif %}
{% endfor %}
</section>
{% endfor %}
</main>
</body>
</html>
"""
)
