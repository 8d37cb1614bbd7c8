# What a grader works in: the same base, and the guest programs of `runner/guest/` in `/esac`.
ARG BASE
FROM ${BASE}
ADD overlay.tar /
ENV PATH=/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8 TZ=UTC
USER 10002:10002
WORKDIR /grade
ENTRYPOINT []
CMD ["sleep", "infinity"]
