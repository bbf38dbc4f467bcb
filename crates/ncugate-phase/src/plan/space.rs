//! The combinations of a sweep's axes that its condition keeps, enumerated axis by axis. A part of the condition is
//! evaluated as soon as all of its axes have values, so that excluded combinations are never enumerated.

use crate::config::{ConditionalAxis, Sweep};
use ncugate_model::expr::{Expr, ExprError, Names, Value};
use serde::{Deserialize, Serialize};

/// One value of every axis, by its index in the axis.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Point(pub Vec<u32>);

impl Point {
    /// Number of axes on which two points differ.
    pub fn distance(&self, other: &Self) -> usize {
        self.0.iter().zip(&other.0).filter(|(a, b)| a != b).count()
    }
}

/// Callback of a walk for each combination that no part of the condition excludes.
pub type Visit<'v> = dyn FnMut(&[u32], Result<bool, ConditionError>) -> Walk + 'v;

/// Whether a walk continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Walk {
    /// To the next combination.
    On,
    Stop,
}

/// Why a condition does not decide on a combination.
#[derive(Debug, Clone, PartialEq)]
pub enum ConditionError {
    /// It cannot be evaluated.
    Unevaluated(ExprError),
    /// Its value is not true or false.
    NotTruth(Value),
}

/// A part of the condition.
#[derive(Debug, Clone)]
struct Part {
    expr: Expr,
    /// The last axis that it reads: it can be evaluated once that axis has a value.
    after: usize,
    /// An axis whose first value satisfies it too.
    only_if: Option<usize>,
}

/// The combinations of axes that a condition keeps.
#[derive(Debug, Clone)]
pub struct Space {
    axes: Vec<(String, Vec<Value>)>,
    condition: Option<Expr>,
    parts: Vec<Part>,
}

impl Space {
    /// The space of a sweep, with axes that count only under a condition.
    pub fn new(sweep: &Sweep, conditional: &[ConditionalAxis]) -> Self {
        let axes = sweep.axes.clone();
        let at = |name: &str| axes.iter().position(|(axis, _)| axis == name);
        let after = |expr: &Expr| expr.names().iter().filter_map(|(name, _)| at(name)).max().unwrap_or(0);
        let conjuncts = sweep.condition.iter().flat_map(Expr::conjuncts);
        let mut parts: Vec<Part> = conjuncts.map(|expr| Part { after: after(&expr), expr, only_if: None }).collect();
        parts.extend(conditional.iter().filter_map(|conditional| {
            let axis = at(&conditional.axis)?;
            let after = after(&conditional.when).max(axis);
            Some(Part { expr: conditional.when.clone(), after, only_if: Some(axis) })
        }));
        Self { axes, condition: sweep.condition.clone(), parts }
    }

    /// Names and values, in the order of the file.
    pub fn axes(&self) -> &[(String, Vec<Value>)] {
        &self.axes
    }

    /// Number of combinations without the condition; none if it overflows.
    pub fn combinations(&self) -> Option<usize> {
        self.axes.iter().try_fold(1_usize, |n, (_, values)| n.checked_mul(values.len()))
    }

    /// The parameters of a point.
    pub fn params(&self, point: &Point) -> Vec<(String, Value)> {
        let pairs = self.axes.iter().zip(&point.0);
        pairs.filter_map(|((name, values), at)| Some((name.clone(), values.get(*at as usize)?.clone()))).collect()
    }

    /// The point with these parameters; none if an axis is missing or does not have the value.
    pub fn point(&self, params: &[(String, Value)]) -> Option<Point> {
        let index = |(name, values): &(String, Vec<Value>)| {
            let (_, value) = params.iter().find(|(param, _)| param == name)?;
            u32::try_from(values.iter().position(|known| known == value)?).ok()
        };
        (params.len() == self.axes.len()).then(|| self.axes.iter().map(index).collect::<Option<_>>().map(Point))?
    }

    /// Whether the condition keeps a point; a condition that cannot be evaluated there does not.
    pub fn contains(&self, point: &Point) -> bool {
        let whole = point.0.len() == self.axes.len();
        let inside = point.0.iter().zip(&self.axes).all(|(at, (_, values))| (*at as usize) < values.len());
        whole && inside && self.decided(&point.0) == Ok(true)
    }

    /// Visits the kept and the undecided combinations in the order of the axes, the last one fastest.
    pub fn walk(&self, visit: &mut Visit<'_>) {
        let mut names = Names::new();
        self.descend(
            &mut Vec::with_capacity(self.axes.len()),
            &mut names,
            &mut |_, values| (0..values).collect(),
            visit,
        );
    }

    /// Visits like [`Space::walk`], but the values of each axis in the order that `order` returns for the axis and
    /// its number of values, on every visit of the axis. Omitted values are skipped.
    pub fn walk_by(&self, order: &mut dyn FnMut(usize, u32) -> Vec<u32>, visit: &mut Visit<'_>) {
        self.descend(&mut Vec::with_capacity(self.axes.len()), &mut Names::new(), order, visit);
    }

    /// Every kept point, in order; none if there are more than `most`, or if the walk takes more than a hundred times
    /// as many steps.
    pub fn listed(&self, most: usize) -> Option<Vec<Point>> {
        let (mut points, mut left) = (Vec::new(), most.saturating_mul(100));
        let mut order = |_: usize, values: u32| {
            left = left.saturating_sub(1);
            if left == 0 { Vec::new() } else { (0..values).collect() }
        };
        self.walk_by(&mut order, &mut |at, kept| {
            if kept == Ok(true) {
                points.push(Point(at.to_vec()));
            }
            if points.len() <= most { Walk::On } else { Walk::Stop }
        });
        (left > 0 && points.len() <= most).then_some(points)
    }

    /// The kept points that differ from a point on one axis.
    pub fn neighbours(&self, point: &Point) -> Vec<Point> {
        let mut found = Vec::new();
        for (axis, (_, values)) in self.axes.iter().enumerate() {
            for at in 0..u32::try_from(values.len()).unwrap_or(u32::MAX) {
                let mut other = point.clone();
                if other.0[axis] != at {
                    other.0[axis] = at;
                    found.push(other);
                }
            }
        }
        found.retain(|other| self.contains(other));
        found
    }

    fn descend(
        &self,
        at: &mut Vec<u32>,
        names: &mut Names,
        order: &mut dyn FnMut(usize, u32) -> Vec<u32>,
        visit: &mut Visit<'_>,
    ) -> Walk {
        let axis = at.len();
        let Some((name, values)) = self.axes.get(axis) else { return visit(at, self.decided(at)) };
        for index in order(axis, u32::try_from(values.len()).unwrap_or(u32::MAX)) {
            at.push(index);
            names.insert(name.clone(), values[index as usize].clone());
            let walk = if self.ruled_out(axis, at, names) { Walk::On } else { self.descend(at, names, order, visit) };
            at.pop();
            names.remove(name);
            if walk == Walk::Stop {
                return Walk::Stop;
            }
        }
        Walk::On
    }

    /// Whether a part that became decidable on this axis is false. A part that cannot be evaluated is left to the
    /// whole condition.
    fn ruled_out(&self, axis: usize, at: &[u32], names: &Names) -> bool {
        let mut asked = self.parts.iter().filter(|part| part.after == axis);
        asked.any(|part| match part.only_if {
            Some(conditional) if at[conditional] == 0 => false,
            Some(_) | None => part.expr.eval(names) == Ok(Value::Bool(false)),
        })
    }

    /// The result of the whole condition.
    fn decided(&self, at: &[u32]) -> Result<bool, ConditionError> {
        let names: Names = self.params(&Point(at.to_vec())).into_iter().collect();
        let truth = |expr: &Expr| match expr.eval(&names) {
            Ok(Value::Bool(kept)) => Ok(kept),
            Ok(other) => Err(ConditionError::NotTruth(other)),
            Err(e) => Err(ConditionError::Unevaluated(e)),
        };
        for part in &self.parts {
            if part.only_if.is_some_and(|axis| at[axis] != 0) && !truth(&part.expr)? {
                return Ok(false);
            }
        }
        self.condition.as_ref().map_or(Ok(true), truth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sweep(axes: &[(&str, &[i64])], condition: Option<&str>) -> Sweep {
        let values = |values: &[i64]| values.iter().map(|value| Value::Int(*value)).collect();
        Sweep {
            axes: axes.iter().map(|(name, of)| ((*name).to_owned(), values(of))).collect(),
            condition: condition.map(|text| Expr::parse(text).unwrap()),
            points: None,
        }
    }

    #[test]
    fn a_listing_is_every_kept_combination_the_last_axis_fastest() {
        let space = Space::new(&sweep(&[("A", &[1, 2, 3]), ("B", &[1, 2])], Some("A != 2 and A + B <= 4")), &[]);
        let kept: Vec<Vec<u32>> = space.listed(10).unwrap().into_iter().map(|point| point.0).collect();
        assert_eq!(kept, [vec![0, 0], vec![0, 1], vec![2, 0]]);
    }

    #[test]
    fn an_axis_keeps_every_value_of_many() {
        let many: Vec<i64> = (0..70_000).collect();
        let space = Space::new(&sweep(&[("A", &many)], None), &[]);
        assert_eq!(space.listed(100_000).unwrap().last(), Some(&Point(vec![69_999])));
    }

    #[test]
    fn a_condition_on_early_axes_rules_out_what_lies_behind_them() {
        let many: Vec<i64> = (1..=30).collect();
        let axes: Vec<(&str, &[i64])> = ["A", "B", "C", "D", "E", "F"].into_iter().map(|n| (n, &many[..])).collect();
        let text = "A == 1 and B == 2 and C == 3 and D == 4 and E + F == 5";
        let space = Space::new(&sweep(&axes, Some(text)), &[]);
        assert_eq!(space.combinations(), Some(729_000_000));
        assert_eq!(space.listed(100).unwrap().len(), 4);
    }

    #[test]
    fn more_points_than_asked_for_are_not_listed() {
        let space = Space::new(&sweep(&[("A", &[1, 2, 3]), ("B", &[1, 2, 3])], None), &[]);
        assert_eq!(space.listed(8), None);
        assert_eq!(space.listed(9).unwrap().len(), 9);
    }

    #[test]
    fn a_conditional_axis_keeps_its_first_value_where_it_does_not_count() {
        let conditional = [ConditionalAxis { axis: "B".to_owned(), when: Expr::parse("A == 2").unwrap() }];
        let space = Space::new(&sweep(&[("A", &[1, 2]), ("B", &[7, 8])], None), &conditional);
        let kept: Vec<Vec<u32>> = space.listed(10).unwrap().into_iter().map(|point| point.0).collect();
        assert_eq!(kept, [vec![0, 0], vec![1, 0], vec![1, 1]]);
    }

    #[test]
    fn a_part_that_cannot_be_evaluated_early_is_left_to_the_whole_condition() {
        let space = Space::new(&sweep(&[("A", &[0, 2]), ("B", &[4, 5])], Some("A != 0 and B % A == 0")), &[]);
        let kept: Vec<Vec<u32>> = space.listed(10).unwrap().into_iter().map(|point| point.0).collect();
        assert_eq!(kept, [vec![1, 0]]);
    }

    #[test]
    fn neighbours_differ_on_one_axis_and_are_kept() {
        let space = Space::new(&sweep(&[("A", &[1, 2, 3]), ("B", &[1, 2])], Some("A + B != 4")), &[]);
        let near: Vec<Vec<u32>> = space.neighbours(&Point(vec![0, 0])).into_iter().map(|point| point.0).collect();
        assert_eq!(near, [vec![1, 0], vec![0, 1]]);
    }
}
