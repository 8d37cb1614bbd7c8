"""Program of a subject process: answers one request of `Subject.call` or `Subject.drive`.

The request comes on standard input as JSON, the answer goes to file descriptor 3. Everything in this
process belongs to the submission once it is imported; whatever it answers is judged elsewhere.
"""

import sys

if __name__ == "__main__":
    here = __file__.rpartition("/")[0]
    sys.path.insert(0, here)
    from subject_answer import answer

    sys.path.remove(here)
    answer()
