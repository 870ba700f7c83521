# Writes the log of PyPI hdrhistogram's writer, which knows no tags: a client writes them itself.
import io, sys
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogWriter
T0 = 1_700_000_000_000
out = sys.stdout
class Tagged:
    tag = ""
    def write(self, text):
        out.write((f"Tag={self.tag}," if text[0] not in '#"' else "") + text)
def block(subject, start=None, base=None, writes_base=False, at=1500, version=False):
    log = Tagged(); log.tag = f"{subject}.order.service"
    writer = HistogramLogWriter(log)
    if version: writer.output_log_format_version()
    if start is not None: log.write("#[StartTime: %f (seconds since epoch), then]\n" % (start / 1000))
    if base is not None: writer.base_time = base
    if writes_base: writer.output_base_time(base)
    if version: writer.output_legend()
    h = HdrHistogram(1, 3_600_000_000_000, 3)
    for i in range(10): h.record_value(1000 * (i + 1))
    h.set_start_time_stamp(T0 + at); h.set_end_time_stamp(T0 + at + 1250)
    writer.output_interval_histogram(h)
block("absolute")
block("base", T0, T0, True, version=True)
block("bare")
block("start-absolute", T0, version=True)
block("start-relative", T0, T0, version=True)
block("before", T0 + 2000, T0 + 2000, True, version=True)
