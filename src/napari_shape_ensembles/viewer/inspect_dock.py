"""placeholder"""


class InspectCurves:
    pass
