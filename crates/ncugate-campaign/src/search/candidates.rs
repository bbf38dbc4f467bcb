//! Sources of points for a search: a list, or a space that is too large to list.

use super::proposer::below;
use indexmap::IndexSet;
use ncugate_model::expr::Value;
use ncugate_phase::plan::{Point, Space, Walk};
use rand_chacha::ChaCha8Rng;
use std::collections::HashSet;

/// Largest space that is listed; larger ones are sampled.
const LISTED: usize = 1 << 16;

/// Step limit of the walk to one random point; the walk may fail if a condition excludes almost all points.
const PATIENCE: usize = 4096;

/// A source of untried points.
pub trait PointSource {
    /// The first untried points in the order of the space.
    fn in_order(&self, tried: &HashSet<&Point>, count: usize) -> Vec<Point>;

    /// Distinct untried points at random; fewer if the space runs out.
    fn draw(&self, rng: &mut ChaCha8Rng, count: usize, tried: &HashSet<&Point>) -> Vec<Point>;

    fn contains(&self, point: &Point) -> bool;

    /// Number of values of each axis.
    fn extents(&self) -> &[u32];
}

/// Points in a list.
#[derive(Debug, Clone)]
pub struct PointList {
    points: IndexSet<Point>,
    extents: Vec<u32>,
}

impl PointList {
    /// A space of these points.
    pub fn new(points: Vec<Point>) -> Self {
        let axes = points.first().map_or(0, |point| point.0.len());
        let extent = |axis: usize| points.iter().map(|point| point.0[axis] + 1).max().unwrap_or(0);
        Self { extents: (0..axes).map(extent).collect(), points: points.into_iter().collect() }
    }
}

impl PointSource for PointList {
    fn in_order(&self, tried: &HashSet<&Point>, count: usize) -> Vec<Point> {
        self.points.iter().filter(|point| !tried.contains(point)).take(count).cloned().collect()
    }

    fn draw(&self, rng: &mut ChaCha8Rng, count: usize, tried: &HashSet<&Point>) -> Vec<Point> {
        let mut free: Vec<&Point> = self.points.iter().filter(|point| !tried.contains(point)).collect();
        let count = count.min(free.len());
        // A partial shuffle (Fisher and Yates).
        for at in 0..count {
            let other = at + below(rng, free.len() - at);
            free.swap(at, other);
        }
        free.into_iter().take(count).cloned().collect()
    }

    fn contains(&self, point: &Point) -> bool {
        self.points.contains(point)
    }

    fn extents(&self) -> &[u32] {
        &self.extents
    }
}

/// A space sampled by walking it.
#[derive(Debug, Clone)]
pub struct SpaceSampler {
    space: Space,
    extents: Vec<u32>,
}

impl SpaceSampler {
    /// The first point of a walk with values in random order. Points with few siblings on the path are drawn more
    /// often, so the sample is spread over the space but not uniform.
    fn one(&self, rng: &mut ChaCha8Rng) -> Option<Point> {
        let (mut found, mut steps) = (None, 0);
        let mut order = |_: usize, values: u32| {
            steps += 1;
            let mut all: Vec<u32> = if steps > PATIENCE { Vec::new() } else { (0..values).collect() };
            for at in (1..all.len()).rev() {
                all.swap(at, below(rng, at + 1));
            }
            all
        };
        self.space.walk_by(&mut order, &mut |at, kept| {
            if kept == Ok(true) {
                found = Some(Point(at.to_vec()));
            }
            if found.is_some() { Walk::Stop } else { Walk::On }
        });
        found
    }
}

impl PointSource for SpaceSampler {
    fn in_order(&self, tried: &HashSet<&Point>, count: usize) -> Vec<Point> {
        let mut found = Vec::new();
        self.space.walk(&mut |at, kept| {
            let point = Point(at.to_vec());
            if kept == Ok(true) && !tried.contains(&point) {
                found.push(point);
            }
            if found.len() >= count { Walk::Stop } else { Walk::On }
        });
        found
    }

    fn draw(&self, rng: &mut ChaCha8Rng, count: usize, tried: &HashSet<&Point>) -> Vec<Point> {
        let (mut found, mut seen) = (Vec::new(), HashSet::new());
        for _ in 0..4 * count {
            let Some(point) = self.one(rng) else { break };
            if !tried.contains(&point) && seen.insert(point.clone()) {
                found.push(point);
            }
            if found.len() >= count {
                break;
            }
        }
        found
    }

    fn contains(&self, point: &Point) -> bool {
        self.space.contains(point)
    }

    fn extents(&self) -> &[u32] {
        &self.extents
    }
}

/// The points of a space: listed if they are few.
pub fn candidates(space: &Space) -> Box<dyn PointSource> {
    match space.listed(LISTED) {
        Some(points) => Box::new(PointList::new(points)),
        None => {
            let extent = |(_, values): &(String, Vec<Value>)| u32::try_from(values.len()).unwrap_or(u32::MAX);
            Box::new(SpaceSampler { space: space.clone(), extents: space.axes().iter().map(extent).collect() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncugate_model::expr::Expr;
    use ncugate_phase::config::Sweep;
    use rand_chacha::rand_core::SeedableRng;

    /// Twelve axes of ten values; a condition keeps about one in a thousand combinations.
    fn vast() -> Space {
        let values: Vec<Value> = (1..=10).map(Value::Int).collect();
        let axes = ('A'..='L').map(|name| (name.to_string(), values.clone())).collect();
        let condition = Some(Expr::parse("A * B <= 9 and C == D and E + F == 11 and G >= 5").unwrap());
        Space::new(&Sweep { axes, condition, points: None }, &[])
    }

    #[test]
    fn a_space_of_a_trillion_combinations_is_drawn_from_without_being_listed() {
        let space = vast();
        let candidates = candidates(&space);
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let drawn = candidates.draw(&mut rng, 100, &HashSet::new());
        let different: HashSet<&Point> = drawn.iter().collect();
        assert_eq!(different.len(), 100);
        assert!(drawn.iter().all(|point| space.contains(point)));
        assert_eq!(candidates.in_order(&HashSet::new(), 3).len(), 3);
        assert!(drawn.iter().all(|point| candidates.contains(point)) && candidates.extents() == [10; 12]);
    }

    #[test]
    fn a_space_without_points_gives_none() {
        let mut sweep = Sweep { axes: vec![("A".to_owned(), vec![Value::Int(1)])], condition: None, points: None };
        sweep.condition = Some(Expr::parse("A == 2").unwrap());
        let candidates = candidates(&Space::new(&sweep, &[]));
        assert!(candidates.draw(&mut ChaCha8Rng::seed_from_u64(1), 4, &HashSet::new()).is_empty());
    }
}
