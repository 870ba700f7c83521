import java.io.*; import org.HdrHistogram.*;
public class Writer {
  static final long T0 = 1_700_000_000_000L;
  static void block(String subject, Long start, Long base, boolean writesBase, boolean version) {
    HistogramLogWriter w = new HistogramLogWriter(System.out);
    if (version) w.outputLogFormatVersion();
    if (start != null) w.outputStartTime(start);
    if (base != null) { w.setBaseTime(base); if (writesBase) w.outputBaseTime(base); }
    if (version) w.outputLegend();
    Histogram h = new Histogram(3_600_000_000_000L, 3);
    for (int i = 1; i <= 10; i++) h.recordValue(1000 * i);
    h.setStartTimeStamp(T0 + 1500); h.setEndTimeStamp(T0 + 2750); h.setTag(subject + ".order.service");
    w.outputIntervalHistogram(h);
  }
  public static void main(String[] a) {
    block("absolute", null, null, false, false);
    block("base", T0, T0, true, true);
    block("bare", null, null, false, false);
    block("start-absolute", T0, null, false, true);
    block("start-relative", T0, T0, false, true);
    block("before", T0 + 2000, T0 + 2000, true, true);
  }
}
