# The agent image with one command-line agent in `/opt/agents/`, root's and read-only. Nothing is fetched here: the host
# did, and compared digests.
ARG BASE
FROM ${BASE}
USER 0:0
ADD package.tar /
# Byte code of agents that are Python, as in the agent image, by one process: the order of work shows in byte code.
# Some files of libraries are templates, and no programs.
RUN for site in /opt/agents/*/site; do \
        if [ -d "$site" ]; then \
            env -i PATH="$PATH" LC_ALL=C PYTHONHASHSEED=0 \
                python3 -B -m compileall -q --invalidation-mode unchecked-hash "$site" >/dev/null || true; \
            find "$site" -newer "$site/../bin" -exec touch -h -r "$site/../bin" {} +; \
        fi; \
    done
USER 10001:10001
