//! Attributes gaps to causes: a pure function of gaps and spans.
//!
//! 1. Each instant of a gap is charged to the innermost span that covers it.
//! 2. A span that only carries others (the timer's interrupt, a worker) passes its own time to the
//!    longest span that it carries.
//! 3. Everything on the core of a throttled thread is charged to the throttling.
//! 4. Time that no span covers is the way into and out of the kernel if it is at most
//!    [`UNSEEN_NS_MAX`], the covered time, or twice the usual time. It is charged to the gap's
//!    largest part. The usual time is the median over the core's gaps with an interrupt: a virtual
//!    core leaves its guest for each, which takes longer than the interrupt itself. Anything beyond
//!    the usual time is `host`.
//! 5. The smallest parts, together at most [`SMALL_SHARE`] of the gap, are added to the largest: a
//!    slice of another thread is one disturbance, even if a tick fell into it.
//!
//! So the parts add up to the lost time, and most gaps have one cause.
//!
//! See docs/decisions/006-noise-and-settings.md.

use crate::cause::{Cause, Causes};
use crate::meter::Gap;
use crate::trace::catalog::WorkKind;
use crate::trace::spans::Span;
use stats::median;

/// Time in a gap that no span covers and that still counts as the way into and out of the kernel,
/// ns. Processors take 0.3 to 2 us for it, with mitigations and virtual interrupts.
pub const UNSEEN_NS_MAX: u64 = 3_000;
/// Parts of a gap that are together at most this share are added to its largest.
pub const SMALL_SHARE: f64 = 0.1;
/// Allowed difference between the kernel's and the meter's stamps, ns.
const SLACK_NS: u64 = 500;

/// A part of a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GapPart {
    /// Its cause.
    pub cause: Cause,
    /// Its length, ns.
    pub length_ns: u64,
}

impl GapPart {
    /// A whole gap of unknown cause.
    pub(crate) fn untraced(length_ns: u64) -> GapPart {
        GapPart { cause: Causes::UNTRACED, length_ns }
    }
}

/// The parts of each gap, the largest first; their lengths add up to the gap's. Gaps and spans are
/// of one core, on one timeline, in order of their start.
pub fn attribute(gaps: &[Gap], spans: &[Span]) -> Vec<Vec<GapPart>> {
    let mut first = 0;
    let mut seen = Vec::with_capacity(gaps.len());
    for gap in gaps {
        while first < spans.len() && is_over(&spans[first], gap) {
            first += 1;
        }
        let here = spans[first..].iter().take_while(|span| span.start_ns < gap.end_ns);
        seen.push(see(*gap, here.filter_map(|span| clip(span, *gap)).collect()));
    }
    let usual_ns = usual_unseen_ns(&seen);
    gaps.iter().zip(seen).map(|(gap, seen)| parts(*gap, seen, usual_ns)).collect()
}

/// Minimum number of gaps with an interrupt for the usual time.
const USUAL_FROM: usize = 20;

/// The usual uncovered time of a gap with an interrupt; 0 if there are too few.
fn usual_unseen_ns(seen: &[GapCover]) -> u64 {
    let interrupts = seen.iter().filter(|seen| seen.has_interrupt);
    let unseen: Vec<u64> = interrupts.map(|seen| seen.unseen_ns).collect();
    if unseen.len() < USUAL_FROM { 0 } else { median(&unseen).unwrap_or(0) }
}

/// Whether a span lies before a gap, and so before all later ones.
fn is_over(span: &Span, gap: &Gap) -> bool {
    match span.end_ns {
        u64::MAX => span.start_ns + SLACK_NS < gap.start_ns,
        end_ns => end_ns <= gap.start_ns,
    }
}

/// A span within a gap.
struct Node {
    start_ns: u64,
    end_ns: u64,
    span: Span,
    /// Its own time.
    own_ns: u64,
    /// The longest span that it carries, and that span's length.
    heir: Option<(usize, u64)>,
    /// An outer span covers everything.
    covered_by: Option<Cause>,
}

fn clip(span: &Span, gap: Gap) -> Option<Node> {
    // A span without an end belongs to the gap in which it began.
    if span.end_ns == u64::MAX && span.start_ns + SLACK_NS < gap.start_ns {
        return None;
    }
    let (start_ns, end_ns) = (span.start_ns.max(gap.start_ns), span.end_ns.min(gap.end_ns));
    let node = || Node {
        start_ns,
        end_ns,
        span: *span,
        own_ns: end_ns - start_ns,
        heir: None,
        covered_by: None,
    };
    (start_ns < end_ns).then(node)
}

/// The spans' part of a gap.
struct GapCover {
    parts: Vec<GapPart>,
    unseen_ns: u64,
    has_interrupt: bool,
}

fn see(gap: Gap, mut nodes: Vec<Node>) -> GapCover {
    let covered_ns = nest(&mut nodes);
    let mut parts: Vec<GapPart> = Vec::new();
    for at in 0..nodes.len() {
        add(&mut parts, final_cause(&nodes, at), nodes[at].own_ns);
    }
    let is_interrupt = |node: &Node| matches!(node.span.kind, WorkKind::Vector | WorkKind::Irq);
    let has_interrupt = nodes.iter().any(is_interrupt);
    GapCover { parts, unseen_ns: gap.length_ns() - covered_ns, has_interrupt }
}

fn parts(gap: Gap, seen: GapCover, usual_ns: u64) -> Vec<GapPart> {
    let GapCover { mut parts, unseen_ns, .. } = seen;
    let covered_ns = gap.length_ns() - unseen_ns;
    let hosts_ns = match unseen_ns <= covered_ns.max(UNSEEN_NS_MAX).max(2 * usual_ns) {
        true => 0,
        false => unseen_ns - usual_ns,
    };
    largest_first(&mut parts);
    match parts.first_mut() {
        None => add(&mut parts, Causes::HOST, unseen_ns),
        Some(largest) => {
            largest.length_ns += unseen_ns - hosts_ns;
            add(&mut parts, Causes::HOST, hosts_ns);
            largest_first(&mut parts);
        }
    }
    let mut small_ns = (gap.length_ns() as f64 * SMALL_SHARE) as u64;
    while parts.len() > 1 && parts[parts.len() - 1].length_ns <= small_ns {
        let smallest = parts.pop().expect("there are two");
        small_ns -= smallest.length_ns;
        parts[0].length_ns += smallest.length_ns;
    }
    parts
}

fn largest_first(parts: &mut [GapPart]) {
    parts.sort_by_key(|part| (std::cmp::Reverse(part.length_ns), part.cause));
}

/// Nests the nodes: subtracts inner times from outer ones, and notes heirs. Returns the covered
/// time.
fn nest(nodes: &mut [Node]) -> u64 {
    // If both begin together, the outer comes first.
    nodes.sort_by_key(|node| (node.start_ns, std::cmp::Reverse(node.end_ns), node.span.kind));
    let mut around: Vec<usize> = Vec::new();
    let mut covered_ns = 0;
    for at in 0..nodes.len() {
        let (start_ns, kind) = (nodes[at].start_ns, nodes[at].span.kind);
        while around.last().is_some_and(|&outer| nodes[outer].end_ns <= start_ns) {
            around.pop();
        }
        match around.last() {
            None => covered_ns += nodes[at].own_ns,
            Some(&outer) => {
                // A span without an end may extend beyond its outer one: to the end of its gap.
                let end_ns = nodes[at].end_ns.min(nodes[outer].end_ns);
                nodes[at].end_ns = end_ns;
                let length_ns = end_ns - start_ns;
                nodes[at].own_ns = length_ns;
                nodes[outer].own_ns -= length_ns.min(nodes[outer].own_ns);
                let outermost = &nodes[outer];
                nodes[at].covered_by = outermost
                    .covered_by
                    .or(outermost.span.covers_all.then_some(outermost.span.cause));
            }
        }
        // All outer spans, not just the next one: a timer runs in a softirq in a thread.
        for &outer in &around {
            let length_ns = nodes[at].end_ns - start_ns;
            let outer = &mut nodes[outer];
            if outer.span.carries == Some(kind)
                && outer.heir.is_none_or(|(_, best)| best < length_ns)
            {
                outer.heir = Some((at, length_ns));
            }
        }
        around.push(at);
    }
    covered_ns
}

fn final_cause(nodes: &[Node], mut at: usize) -> Cause {
    // An heir is later in the list, so this ends.
    loop {
        if let Some(cause) = nodes[at].covered_by {
            return cause;
        }
        match nodes[at].heir {
            Some((heir, _)) => at = heir,
            None => return nodes[at].span.cause,
        }
    }
}

fn add(parts: &mut Vec<GapPart>, cause: Cause, length_ns: u64) {
    match parts.iter_mut().find(|part| part.cause == cause) {
        Some(part) => part.length_ns += length_ns,
        None if length_ns > 0 => parts.push(GapPart { cause, length_ns }),
        None => {}
    }
}

/// The share of the visible spans that begin in a gap. It is near 1 if the stamps of kernel and
/// meter are on one timeline. `None` without spans.
pub fn aligned_share(gaps: &[Gap], spans: &[Span], limit_ns: u64) -> Option<f64> {
    let (Some(first), Some(last)) = (gaps.first(), gaps.last()) else { return None };
    let is_long = |span: &&Span| {
        span.kind != WorkKind::Lost
            && span.end_ns != u64::MAX
            && span.end_ns.saturating_sub(span.start_ns) > limit_ns
            && span.start_ns >= first.start_ns
            && span.end_ns <= last.end_ns
    };
    let is_inside = |span: &&Span| {
        let next = gaps.partition_point(|gap| gap.end_ns <= span.start_ns);
        gaps.get(next).is_some_and(|gap| gap.start_ns <= span.start_ns + SLACK_NS)
    };
    let long: Vec<&Span> = spans.iter().filter(is_long).collect();
    let inside = long.iter().copied().filter(|span| is_inside(span)).count();
    (!long.is_empty()).then(|| inside as f64 / long.len() as f64)
}

#[cfg(test)]
#[path = "attribute_tests.rs"]
mod tests;
