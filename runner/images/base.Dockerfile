# The base of both images from a public image; where no registry answers, `mmdebstrap` and the same script make it.
ARG BASE
FROM ${BASE}
ARG PACKAGES
ARG SOURCE_DATE_EPOCH
USER 0:0
ADD prepare.tar /
RUN sh /prepare.sh ${PACKAGES} && rm /prepare.sh
