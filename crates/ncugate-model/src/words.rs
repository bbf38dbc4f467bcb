//! Enums whose values are words of a phase or of a report.

/// An enum with a word for each value: all values (`ALL`), all with their words (`WORDS`), the word of one by the method that is
/// named first, and the same as `Display`.
#[macro_export]
macro_rules! words {
    (
        $method:ident;
        $(#[$meta:meta])*
        pub enum $name:ident { $($(#[$of_value:meta])* $value:ident = $word:literal,)+ }
    ) => {
        $(#[$meta])*
        pub enum $name { $($(#[$of_value])* $value,)+ }

        impl $name {
            /// All values, as declared.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$value),+];
            /// All values by their words.
            pub const WORDS: [(&'static str, Self); Self::ALL.len()] = [$(($word, Self::$value)),+];

            /// Its word.
            pub const fn $method(self) -> &'static str {
                match self {
                    $(Self::$value => $word,)+
                }
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                ::std::fmt::Display::fmt(self.$method(), f)
            }
        }
    };
}
