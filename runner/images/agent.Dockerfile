# What an agent works in: a shell, an editor's tools, Git, Python and pytest. Of the harness it holds what the suite
# needs inside of it, in `/opt/esac`: the programs of `runner/guest/agent/` and the mock world.
ARG BASE
FROM ${BASE}
ADD overlay.tar /
# Byte code that is never checked against its source: without it the tool server would need two thirds longer to start.
# Neither the order of hashes nor the time of the build may show in the layer: times are those of the overlay's files.
RUN env -i PATH="$PATH" LC_ALL=C PYTHONHASHSEED=0 \
        python3 -B -m compileall -q --invalidation-mode unchecked-hash /opt/esac \
    && find /opt/esac -exec touch -h -r /opt/esac/esac_world/__init__.py {} +
ENV PATH=/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8 TZ=UTC
USER 10001:10001
WORKDIR /agent
ENTRYPOINT []
CMD ["sleep", "infinity"]
