"""The attempt state machine: seal, launch, grade, retry, resume, audit."""
