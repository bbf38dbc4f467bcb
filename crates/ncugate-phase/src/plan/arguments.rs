//! Arguments of a launch, evaluated at a shape.

use super::arg::{Arg, BufferElement, ScalarValue};
use super::fault::Faults;
use super::launch::{StepContext, type_name, typed};
use super::{surface, texture};
use crate::config::{ArgTemplate, ScalarType};
use ncugate_model::expr::Expr;

impl StepContext<'_> {
    pub(super) fn arguments(&self, args: &[ArgTemplate], faults: &mut Faults) -> Option<Vec<Arg>> {
        let args: Vec<Option<Arg>> = args.iter().enumerate().map(|(at, arg)| self.argument(at, arg, faults)).collect();
        args.into_iter().collect()
    }

    /// An argument; `at` is its position in `args`.
    fn argument(&self, at: usize, arg: &ArgTemplate, faults: &mut Faults) -> Option<Arg> {
        self.value(&format!("args[{at}]"), arg, faults)
    }

    /// The value under `key`, which has the syntax of arguments.
    pub(super) fn value(&self, key: &str, arg: &ArgTemplate, faults: &mut Faults) -> Option<Arg> {
        match arg {
            ArgTemplate::Named(name) => self.arg(key, name, faults),
            ArgTemplate::Null => Some(Arg::Null),
            ArgTemplate::Element { buffer, offset } => self.element(key, buffer, offset, faults).map(Arg::Element),
            ArgTemplate::Value { dtype, value } => self.literal(key, *dtype, value, faults).map(Arg::Scalar),
            ArgTemplate::Texture(template) => self
                .texels((key, "texture", &template.buffer), faults, |dtype, extents| {
                    texture::view(dtype, extents, template)
                })
                .map(Arg::Texture),
            ArgTemplate::Surface(template) => self
                .texels((key, "surface", &template.buffer), faults, |dtype, extents| {
                    surface::view(dtype, extents, template)
                })
                .map(Arg::Surface),
            ArgTemplate::Struct { align, fields } => {
                Some(Arg::Struct { align: *align, fields: self.parts(key, fields, faults)? })
            }
            ArgTemplate::Pointers(pointers) => self.parts(key, pointers, faults).map(Arg::Pointers),
        }
    }

    fn parts(&self, key: &str, parts: &[ArgTemplate], faults: &mut Faults) -> Option<Vec<Arg>> {
        let parts: Vec<Option<Arg>> = parts.iter().map(|part| self.value(key, part, faults)).collect();
        parts.into_iter().collect()
    }

    fn element(&self, key: &str, name: &str, offset: &Expr, faults: &mut Faults) -> Option<BufferElement> {
        let help = "an offset must be a whole number of elements within the buffer";
        let before = self.whole(key, offset, 0..=i64::from(u32::MAX), help, faults)?;
        let buffer = self.workload.buffers.iter().find(|buffer| buffer.name == name)?;
        let extents = buffer.shape.iter().map(|extent| extent.eval_int(self.scope).ok());
        let elements = extents.product::<Option<i64>>()?;
        if i64::from(before) >= elements {
            let message = format!("is `{name}` from element {before}, but the buffer has {elements} elements");
            self.fault(faults, key, message, help);
            return None;
        }
        let bytes = u64::from(before) * buffer.dtype.at(self.shape).ok()?.size() as u64;
        Some(BufferElement { buffer: name.to_owned(), bytes })
    }

    fn literal(&self, key: &str, dtype: ScalarType, value: &Expr, faults: &mut Faults) -> Option<ScalarValue> {
        let evaluated = match value.eval(self.scope) {
            Ok(value) => value,
            Err(error) => {
                faults.unevaluated(&(self.key)(key), value.text(), &error, "", self.subject);
                return None;
            }
        };
        let typed = typed(dtype, &evaluated);
        if typed.is_none() {
            let message = format!("has \"{value}\", which gives {evaluated}, not a {}", type_name(dtype));
            self.fault(faults, key, message, "use another type or value");
        }
        typed
    }
}
