const { build, HistogramLogWriter } = require("hdr-histogram-js");
const T0 = 1700000000000;
function block(subject, start, base, writesBase, version) {
  const w = new HistogramLogWriter((text) => process.stdout.write(text));
  if (version) w.outputLogFormatVersion();
  if (start) w.outputStartTime(start);
  if (base) { w.baseTime = base; if (writesBase) w.outputComment(`[BaseTime: ${(base / 1000).toFixed(3)} (seconds since epoch)]`); }
  if (version) w.outputLegend();
  const h = build({ highestTrackableValue: 3600000000000, numberOfSignificantValueDigits: 3, bitBucketSize: 64 });
  for (let i = 1; i <= 10; i++) h.recordValue(1000 * i);
  h.startTimeStampMsec = T0 + 1500; h.endTimeStampMsec = T0 + 2750; h.tag = subject + ".order.service";
  w.outputIntervalHistogram(h);
}
block("absolute"); block("base", T0, T0, true, true); block("bare");
block("start-absolute", T0, undefined, false, true); block("start-relative", T0, T0, false, true);
block("before", T0 + 2000, T0 + 2000, true, true);
