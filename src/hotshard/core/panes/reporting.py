"""report: a closed window as a report. Taken over by H12, being rewritten."""
from hotshard.core.sketching.merging import merge, threshold
from hotshard.core.wire.names import key_text
from hotshard.core.wire.report import HeavyReport, SkewReport, WindowReport


def window_report(closed, spec, *, hot_keys, hot_tenants):
    t = closed.totals
    load = sum(closed.loads.values())
    keys = merge(p.keys for p in closed.lists)
    return WindowReport(topic=spec.name, start_ms=closed.start_ms, end_ms=closed.end_ms, revision=closed.revision,
        records=t.records, size_bytes=t.size_bytes, unkeyed=t.unkeyed, skipped=t.skipped, failed=t.failed, lost=t.lost,
        load=str(spec.load), threshold=threshold(keys.error, load), threshold_tenants=0, guaranteed=True, completeness=closed.completeness,
        partitions=(), skew=SkewReport(total=load, max=0, median=0.0, ratio=0.0, imbalance=0.0, idle=0, hottest=None),
        keys=tuple(HeavyReport(key=key_text(r.key)[0], estimate=r.upper, lower=r.lower, upper=r.upper, share=0.0) for r in keys.rows[:20]),
        tenants=(), ranges=closed.ranges)
