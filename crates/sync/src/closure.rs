//! Closure: offsets around a triangle of hosts add up to zero. Estimates that don't show how
//! asymmetric the paths are.

/// An estimated offset: the clock of `to` minus that of `from`, all links at one instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// Number of the host, from 0.
    pub from: usize,
    /// Number of the other host.
    pub to: usize,
    /// The estimate in nanoseconds.
    pub offset_ns: f64,
    /// Half its interval in nanoseconds, above 0: a link counts by its inverse square.
    pub error_ns: f64,
}

/// Three hosts, each two of which have a link.
#[derive(Clone, Debug, PartialEq)]
pub struct Triangle {
    /// The hosts, in ascending order.
    pub hosts: [usize; 3],
    /// The sum of the offsets around it, in nanoseconds.
    pub sum_ns: f64,
    /// Half the interval of the sum: the root of the sum of squares.
    pub error_ns: f64,
}

impl Triangle {
    /// Whether the sum is zero within its interval.
    pub fn closes(&self) -> bool {
        self.sum_ns.abs() <= self.error_ns
    }
}

/// One link after the adjustment.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// The link as it was estimated.
    pub link: Link,
    /// The offset that agrees with all others, in nanoseconds.
    pub adjusted_ns: f64,
    /// Estimate minus adjusted offset: the part of this path's asymmetry that others contradict. An
    /// asymmetry that looks like a shifted clock stays hidden.
    pub left_over_ns: f64,
}

/// The least-squares adjustment of all links.
#[derive(Clone, Debug, PartialEq)]
pub struct Closure {
    /// The offset of each host against host 0, in nanoseconds.
    pub offsets_ns: Vec<f64>,
    /// Each link, in the order given.
    pub pairs: Vec<Pair>,
    /// All triangles.
    pub triangles: Vec<Triangle>,
}

/// A host that no link, or no link with an error above 0, connects with host 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownHost(pub usize);

/// Adjusts the offsets of `hosts` hosts so that the squares of what is left over, each in units of
/// its link's error, add up to the least.
///
/// # Errors
/// The first host whose offset the links don't determine.
pub fn closure(hosts: usize, links: &[Link]) -> Result<Closure, UnknownHost> {
    let mut equations = vec![vec![0.0; hosts + 1]; hosts];
    for link in links {
        for host in [link.from, link.to] {
            if host >= hosts || !(link.error_ns > 0.0 && link.error_ns.is_finite()) {
                return Err(UnknownHost(host));
            }
        }
        let weight = link.error_ns.powi(-2);
        for (host, other, sign) in [(link.from, link.to, -1.0), (link.to, link.from, 1.0)] {
            equations[host][host] += weight;
            equations[host][other] -= weight;
            equations[host][hosts] += sign * weight * link.offset_ns;
        }
    }
    let offsets_ns = solve(equations)?;
    let pairs = links.iter().map(|link| {
        let adjusted_ns = offsets_ns[link.to] - offsets_ns[link.from];
        Pair { link: *link, adjusted_ns, left_over_ns: link.offset_ns - adjusted_ns }
    });
    let pairs = pairs.collect();
    Ok(Closure { pairs, triangles: triangles(hosts, links), offsets_ns })
}

/// Gauss-Jordan without pivoting, which is stable here: without host 0, whose offset is 0, the
/// matrix is symmetric and positive definite if all hosts are connected.
fn solve(mut equations: Vec<Vec<f64>>) -> Result<Vec<f64>, UnknownHost> {
    let hosts = equations.len();
    let before: Vec<f64> = (0..hosts).map(|host| equations[host][host]).collect();
    for host in 1..hosts {
        let pivot = equations[host].clone();
        if pivot[host] <= before[host] * 1e-12 {
            return Err(UnknownHost(host));
        }
        for row in (1..hosts).filter(|row| *row != host) {
            let factor = equations[row][host] / pivot[host];
            for (value, subtracted) in equations[row].iter_mut().zip(&pivot) {
                *value -= factor * subtracted;
            }
        }
    }
    let value = |host: usize| equations[host][hosts] / equations[host][host];
    Ok((0..hosts).map(|host| if host == 0 { 0.0 } else { value(host) }).collect())
}

fn triangles(hosts: usize, links: &[Link]) -> Vec<Triangle> {
    // The first link of each pair of hosts, from the lower number to the higher one.
    let mut between = std::collections::BTreeMap::new();
    for link in links {
        let is_forward = link.from < link.to;
        let (from, to) = if is_forward { (link.from, link.to) } else { (link.to, link.from) };
        let offset_ns = if is_forward { link.offset_ns } else { -link.offset_ns };
        between.entry((from, to)).or_insert((offset_ns, link.error_ns));
    }
    let mut triangles = Vec::new();
    for (&(a, b), ab) in &between {
        for c in b + 1..hosts {
            let (Some(bc), Some(ac)) = (between.get(&(b, c)), between.get(&(a, c))) else {
                continue;
            };
            let error_ns = ab.1.hypot(bc.1).hypot(ac.1);
            triangles.push(Triangle { hosts: [a, b, c], sum_ns: ab.0 + bc.0 - ac.0, error_ns });
        }
    }
    triangles
}

#[cfg(test)]
mod tests {
    use super::*;
    use clock::random::SplitMix64;

    fn link(from: usize, to: usize, offset_ns: f64) -> Link {
        Link { from, to, offset_ns, error_ns: 10.0 }
    }

    #[test]
    fn an_asymmetric_path_opens_its_triangles_and_is_shared_out() {
        let links = [link(0, 1, 100.0), link(1, 2, 50.0), link(2, 0, -120.0)];
        let closure = closure(3, &links).unwrap();
        let [triangle] = &closure.triangles[..] else { panic!("{closure:?}") };
        assert!((triangle.sum_ns - 30.0).abs() < 1e-9 && !triangle.closes(), "{triangle:?}");
        for pair in &closure.pairs {
            assert!((pair.left_over_ns - 10.0).abs() < 1e-9, "{pair:?}");
        }
        assert!((closure.offsets_ns[1] - 90.0).abs() < 1e-9, "{closure:?}");
    }

    #[test]
    fn a_host_without_a_link_has_no_offset() {
        assert_eq!(closure(3, &[link(0, 1, 5.0)]), Err(UnknownHost(2)));
        assert_eq!(closure(4, &[link(0, 1, 5.0), link(2, 3, 5.0)]), Err(UnknownHost(3)));
        assert_eq!(closure(2, &[link(0, 7, 5.0)]), Err(UnknownHost(7)));
        let exact = Link { error_ns: 0.0, ..link(0, 1, 5.0) };
        assert_eq!(closure(2, &[exact]), Err(UnknownHost(0)));
    }

    /// One path of a full mesh of six hosts is asymmetric by 1 us. It keeps most of that as what is
    /// left over, and the offsets come nearer to the truth than its estimate was.
    #[test]
    fn a_mesh_finds_its_asymmetric_path() {
        let mut random = SplitMix64::new(3);
        for _ in 0..testing::cases(100) {
            let truth: Vec<f64> =
                (0..6).map(|host| f64::from(host * random.below(90_000))).collect();
            let mut links = Vec::new();
            for from in 0..6 {
                for to in from + 1..6 {
                    let noise = f64::from(random.below(20)) - 10.0;
                    links.push(link(from, to, truth[to] - truth[from] + noise));
                }
            }
            let bad = random.below(15) as usize;
            links[bad].offset_ns += 1_000.0;
            let closure = closure(6, &links).unwrap();
            assert_eq!(closure.triangles.len(), 20);
            assert!(closure.triangles.iter().filter(|one| !one.closes()).count() >= 4);
            let left_over = |pair: &Pair| pair.left_over_ns.abs();
            let worst = closure.pairs.iter().map(left_over).fold(0.0, f64::max);
            assert_eq!(left_over(&closure.pairs[bad]), worst);
            let pair = &closure.pairs[bad];
            let true_ns = truth[pair.link.to] - truth[pair.link.from];
            assert!((pair.adjusted_ns - true_ns).abs() < 400.0, "{pair:?}");
        }
    }
}
