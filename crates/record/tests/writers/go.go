package main

import (
	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"os"
)

const t0 = int64(1700000000000)

func block(subject string, start, base int64, writesBase, version bool) {
	w := hdr.NewHistogramLogWriter(os.Stdout)
	if version {
		w.OutputLogFormatVersion()
	}
	if start != 0 {
		w.OutputStartTime(start)
	}
	if base != 0 {
		w.SetBaseTime(base)
		if writesBase {
			w.OutputBaseTime(base)
		}
	}
	if version {
		w.OutputLegend()
	}
	h := hdr.New(1, 3600000000000, 3)
	for i := int64(1); i <= 10; i++ {
		h.RecordValue(1000 * i)
	}
	h.SetStartTimeMs(t0 + 1500)
	h.SetEndTimeMs(t0 + 2750)
	h.SetTag(subject + ".order.service")
	if err := w.OutputIntervalHistogram(h); err != nil {
		panic(err)
	}
}
func main() {
	block("absolute", 0, 0, false, false)
	block("base", t0, t0, true, true)
	block("bare", 0, 0, false, false)
	block("start-absolute", t0, 0, false, true)
	block("start-relative", t0, t0, false, true)
	block("before", t0+2000, t0+2000, true, true)
}
