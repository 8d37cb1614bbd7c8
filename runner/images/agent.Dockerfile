# What an agent works in: a shell, an editor's tools, Git, Python and pytest. Nothing of the harness is in it.
ARG BASE
FROM ${BASE}
ADD overlay.tar /
ENV PATH=/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8 TZ=UTC
USER 10001:10001
WORKDIR /agent
ENTRYPOINT []
CMD ["sleep", "infinity"]
