"""The ESAC-AG suite: 23 items in seven categories, 70 points, and the 5-point efficiency modifier. Pure."""
