//! Results of ncu's rules for a launch.

use std::borrow::Cow;

use crate::error::ReportError;
use crate::schema::{focus_metric, rule_body, rule_item, rule_message, rule_result, rule_table, speedup, table_column};
use crate::wire::{Field, Message, WireValue};

/// The type of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RuleMessageKind {
    /// No type.
    #[default]
    None,
    /// No problem found.
    Ok,
    /// A warning.
    Warning,
    /// The rule failed.
    Error,
    /// An opportunity to optimize.
    Optimization,
    /// An unknown type.
    Other(u32),
}

/// A message of a rule. The text contains ncu's markup: `@section:ID:label@`, `@url:label:href@`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleMessage<'a> {
    /// Text with markup.
    pub text: Cow<'a, str>,
    /// Short title.
    pub title: Cow<'a, str>,
    /// Type of the message.
    pub kind: RuleMessageKind,
}

impl RuleMessage<'_> {
    /// The text without markup: labels are kept, targets are removed.
    #[must_use]
    pub fn plain_text(&self) -> String {
        plain(&self.text)
    }
}

/// The scope of an estimated speedup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpeedupScope {
    /// The unit that the rule examines.
    Local,
    /// The total time of the kernel.
    Global,
    /// An unknown scope.
    Other(u32),
}

/// The estimate of a rule: an upper bound, not a prediction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EstimatedSpeedup {
    /// Scope of the speedup.
    pub scope: SpeedupScope,
    /// Speedup in percent, as ncu prints it; NaN when the report gives none.
    pub percent: f64,
}

/// The importance of a metric for a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FocusSeverity {
    /// Unspecified.
    #[default]
    Default,
    /// Low.
    Low,
    /// High.
    High,
    /// An unknown severity.
    Other(u32),
}

/// A metric that a rule highlights.
#[derive(Debug, Clone, PartialEq)]
pub struct FocusMetric<'a> {
    /// Metric name.
    pub name: Cow<'a, str>,
    /// Its value in base units; NaN when the report gives none.
    pub value: f64,
    /// Importance of the metric.
    pub severity: FocusSeverity,
    /// Suggested change of the metric.
    pub hint: Cow<'a, str>,
}

/// One column of a rule's table.
#[derive(Debug, Clone, PartialEq)]
pub struct TableColumn<'a> {
    /// Heading.
    pub name: Cow<'a, str>,
    /// Cells, as text.
    pub cells: Vec<String>,
}

/// A table of a rule.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RuleTable<'a> {
    /// Columns.
    pub columns: Vec<TableColumn<'a>>,
}

/// One item of a rule's result: a message and its data.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RuleItem<'a> {
    /// The message.
    pub message: Option<RuleMessage<'a>>,
    /// Estimated speedup.
    pub speedup: Option<EstimatedSpeedup>,
    /// Highlighted metrics.
    pub focus: Vec<FocusMetric<'a>>,
    /// Tables.
    pub tables: Vec<RuleTable<'a>>,
}

/// The result of one rule. A rule without findings has no items.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RuleResult<'a> {
    /// Identifier of the rule.
    pub id: Cow<'a, str>,
    /// Display name.
    pub name: Cow<'a, str>,
    /// Identifier of the section it belongs to.
    pub section: Cow<'a, str>,
    /// Findings.
    pub items: Vec<RuleItem<'a>>,
}

pub(crate) fn decode(message: Message<'_>) -> Result<RuleResult<'_>, ReportError> {
    let mut rule = RuleResult::default();
    for field in message.fields() {
        let field = field?;
        match field.number {
            rule_result::ID => rule.id = field.text()?,
            rule_result::NAME => rule.name = field.text()?,
            rule_result::BODY => {
                for part in field.message("RuleResultBody")?.fields() {
                    let part = part?;
                    if part.number == rule_body::ITEM {
                        rule.items.push(item(part.message("RuleResultBodyItem")?)?);
                    }
                }
            }
            rule_result::SECTION => rule.section = field.text()?,
            _ => {}
        }
    }
    Ok(rule)
}

fn item(message: Message<'_>) -> Result<RuleItem<'_>, ReportError> {
    let mut item = RuleItem::default();
    for field in message.fields() {
        let field = field?;
        match field.number {
            rule_item::MESSAGE => item.message = Some(rule_message(&field)?),
            rule_item::FOCUS_METRIC => item.focus.push(focus(&field)?),
            rule_item::SPEEDUP => item.speedup = Some(estimate(&field)?),
            rule_item::TABLE => item.tables.push(table(&field)?),
            _ => {}
        }
    }
    Ok(item)
}

fn rule_message<'a>(field: &Field<'a>) -> Result<RuleMessage<'a>, ReportError> {
    let mut message = RuleMessage::default();
    for part in field.message("RuleResultMessage")?.fields() {
        let part = part?;
        match part.number {
            rule_message::TEXT => message.text = part.text()?,
            rule_message::KIND => {
                message.kind = match part.integer32()? {
                    0 => RuleMessageKind::None,
                    1 => RuleMessageKind::Ok,
                    2 => RuleMessageKind::Warning,
                    3 => RuleMessageKind::Error,
                    4 => RuleMessageKind::Optimization,
                    other => RuleMessageKind::Other(other),
                }
            }
            rule_message::TITLE => message.title = part.text()?,
            _ => {}
        }
    }
    Ok(message)
}

fn focus<'a>(field: &Field<'a>) -> Result<FocusMetric<'a>, ReportError> {
    let mut focus = FocusMetric {
        name: Cow::Borrowed(""),
        value: f64::NAN,
        severity: FocusSeverity::Default,
        hint: Cow::Borrowed(""),
    };
    for part in field.message("RuleResultFocusMetric")?.fields() {
        let part = part?;
        match part.number {
            focus_metric::NAME => focus.name = part.text()?,
            focus_metric::VALUE => focus.value = part.double()?,
            focus_metric::SEVERITY => {
                focus.severity = match part.integer32()? {
                    0 => FocusSeverity::Default,
                    1 => FocusSeverity::Low,
                    2 => FocusSeverity::High,
                    other => FocusSeverity::Other(other),
                }
            }
            focus_metric::HINT => focus.hint = part.text()?,
            _ => {}
        }
    }
    Ok(focus)
}

fn estimate(field: &Field<'_>) -> Result<EstimatedSpeedup, ReportError> {
    let mut estimate = EstimatedSpeedup { scope: SpeedupScope::Other(0), percent: f64::NAN };
    for part in field.message("RuleResultSpeedup")?.fields() {
        let part = part?;
        match part.number {
            speedup::SCOPE => {
                estimate.scope = match part.integer32()? {
                    1 => SpeedupScope::Local,
                    2 => SpeedupScope::Global,
                    other => SpeedupScope::Other(other),
                }
            }
            speedup::PERCENT => estimate.percent = part.double()?,
            _ => {}
        }
    }
    Ok(estimate)
}

fn table<'a>(field: &Field<'a>) -> Result<RuleTable<'a>, ReportError> {
    let mut table = RuleTable::default();
    for part in field.message("RuleResultTable")?.fields() {
        let part = part?;
        if part.number == rule_table::COLUMN {
            table.columns.push(column(&part)?);
        }
    }
    Ok(table)
}

/// A column: its name, and its cells in the field for their type; numbers are separate or packed.
fn column<'a>(field: &Field<'a>) -> Result<TableColumn<'a>, ReportError> {
    let mut column = TableColumn { name: Cow::Borrowed(""), cells: Vec::new() };
    for part in field.message("RuleResultTableColumn")?.fields() {
        let part = part?;
        match (part.number, part.value) {
            (table_column::NAME, _) => column.name = part.text()?,
            (table_column::TEXT, _) => column.cells.push(part.text()?.into_owned()),
            (table_column::DOUBLE, WireValue::Bytes(packed)) => {
                let doubles = packed.as_chunks::<8>().0.iter();
                column.cells.extend(doubles.map(|bytes| f64::from_le_bytes(*bytes).to_string()));
            }
            (table_column::DOUBLE, _) => column.cells.push(part.double()?.to_string()),
            (table_column::INTEGER, _) => {
                let mut integers = Vec::new();
                part.integers(&mut integers)?;
                column.cells.extend(integers.iter().map(|value| value.cast_signed().to_string()));
            }
            _ => {}
        }
    }
    Ok(column)
}

/// Removes ncu's markup: `@section:ID:label@` and `@url:label:href@` become the label.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('@') {
        let (before, marked) = rest.split_at(start);
        out.push_str(before);
        let inner = marked.get(1..).unwrap_or_default();
        let Some((markup, behind)) = inner.split_once('@') else {
            out.push_str(marked);
            return out;
        };
        let mut parts = markup.splitn(3, ':');
        match (parts.next(), parts.next(), parts.next()) {
            (Some("url"), Some(label), Some(_)) | (Some("section" | "metric" | "source"), Some(_), Some(label)) => {
                out.push_str(label);
                rest = behind;
            }
            _ => {
                out.push('@');
                rest = inner;
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn markup_becomes_its_label() {
        assert_eq!(plain("see @section:Occupancy:Occupancy@ now"), "see Occupancy now");
        assert_eq!(plain("the @url:Guide:https://a.b/c:d@."), "the Guide.");
        assert_eq!(plain("mail a@b and @ alone"), "mail a@b and @ alone");
        assert_eq!(plain("@"), "@");
    }
}
