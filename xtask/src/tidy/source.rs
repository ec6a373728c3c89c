//! Rules about one file's text.

/// Macros and attributes that no commit keeps.
const LEFT_OVERS: [&str; 5] = ["todo!", "unimplemented!", "dbg!", "#[ignore", "#[should_panic"];

/// Whether a crate root forbids `unsafe` code.
pub(super) fn forbids_unsafe(text: &str) -> bool {
    code_only(text).lines().any(|line| line.trim() == "#![forbid(unsafe_code)]")
}

/// Lines of Rust code, counted from 1, that hold something no commit keeps.
pub(super) fn left_overs(text: &str) -> Vec<(usize, &'static str)> {
    let code = code_only(text);
    let mut found = Vec::new();
    for what in LEFT_OVERS {
        for (at, _) in code.match_indices(what) {
            let before = code[..at].chars().next_back();
            let after = code[at + what.len()..].chars().next();
            let part_of_a_longer_name =
                before.is_some_and(is_word) || (what.starts_with('#') && after.is_some_and(is_word));
            if !part_of_a_longer_name {
                found.push((line_of(&code, at), what));
            }
        }
    }
    found.sort_unstable();
    found
}

/// Lines of Rust code, counted from 1, with `word` in them as a word of its own.
pub(super) fn lines_with_word(text: &str, word: &str) -> Vec<usize> {
    let code = code_only(text);
    let own = |at: &usize| {
        let (before, after) = (&code[..*at], &code[at + word.len()..]);
        !before.chars().next_back().is_some_and(is_word) && !after.chars().next().is_some_and(is_word)
    };
    code.match_indices(word).map(|(at, _)| at).filter(own).map(|at| line_of(&code, at)).collect()
}

/// Absolute paths below a person's home folder, each with its line, counted from 1.
pub(super) fn home_paths(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for folder in ["home", "Users", "root"] {
        let start = format!("/{folder}/");
        for (at, _) in text.match_indices(&start) {
            let inside_a_path = text[..at].chars().next_back().is_some_and(|c| is_word(c) || "-.}>)".contains(c));
            let rest = &text[at + start.len()..];
            let name_length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            if !inside_a_path && name_length > 0 {
                found.push((line_of(text, at), format!("{start}{}", &rest[..name_length])));
            }
        }
    }
    found.sort_unstable();
    found
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// The text with each character of a comment, string or character literal made a blank; line ends stay.
pub(super) fn code_only(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let in_word = code.chars().next_back().is_some_and(is_word);
        let length = literal_length(rest, in_word);
        if length > 0 {
            code.extend(rest[..length].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
            rest = &rest[length..];
        } else {
            code.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    code
}

/// Bytes of the comment or literal that `rest` starts with; 0 if it starts with neither.
fn literal_length(rest: &str, in_word: bool) -> usize {
    if rest.starts_with("//") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    if rest.starts_with("/*") {
        return block_comment_length(rest);
    }
    if let Some(inner) = rest.strip_prefix('"') {
        return 1 + quoted_length(inner, '"');
    }
    if !in_word {
        for prefix in ["r", "br", "cr"] {
            if let Some(length) = rest.strip_prefix(prefix).and_then(raw_string_length) {
                return prefix.len() + length;
            }
        }
    }
    if let Some(inner) = rest.strip_prefix('\'') {
        let mut chars = inner.chars();
        // 'a' and '\n' are characters, 'a alone is a lifetime.
        if matches!((chars.next(), chars.next()), (Some('\\'), _) | (Some(_), Some('\''))) {
            return 1 + quoted_length(inner, '\'');
        }
    }
    0
}

/// Block comments nest in Rust.
fn block_comment_length(rest: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// Bytes up to and with the closing `quote`, past escapes.
fn quoted_length(inner: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in inner.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    inner.len()
}

/// Bytes of `#"…"#` with any number of `#`, what follows the `r` of a raw string.
fn raw_string_length(rest: &str) -> Option<usize> {
    let hashes = rest.len() - rest.trim_start_matches('#').len();
    let inner = rest[hashes..].strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes));
    Some(hashes + 1 + inner.find(&close).map_or(inner.len(), |at| at + close.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_only_blanks_comments_and_literals() {
        let cases: [(&str, &[&str]); 11] = [
            ("a // b\nc", &["a", "c"]),
            ("a /* b /* c */ d */ e", &["a", "e"]),
            (r#"f("x\"y", z)"#, &["f(", ",", "z)"]),
            ("r#\"a\"b\"# + r", &["+", "r"]),
            ("br\"a\\\" + 1", &["+", "1"]),
            ("bar\"x\"", &["bar"]),
            ("'a' + '\\'' + f::<'b>()", &["+", "+", "f::<'b>()"]),
            ("&'static str", &["&'static", "str"]),
            ("\"one\ntwo\" three", &["three"]),
            ("\"open", &[]),
            ("é /* é */ é", &["é", "é"]),
        ];
        for (text, words) in cases {
            let code = code_only(text);
            assert_eq!(code.split_whitespace().collect::<Vec<_>>(), words, "{text}");
            assert_eq!(code.matches('\n').count(), text.matches('\n').count(), "{text}");
        }
    }

    #[test]
    fn left_overs_are_found_in_code_alone() {
        let text = "// todo!()\nlet x = dbg!(y);\nmy_todo!();\nlet s = \"unimplemented!()\";\n#[ignore = \"slow\"]\n#[ignored]\n";
        assert_eq!(left_overs(text), [(2, "dbg!"), (5, "#[ignore")]);
    }

    #[test]
    fn unsafe_is_a_word() {
        assert!(lines_with_word("#![forbid(unsafe_code)]\n// unsafe\n\"unsafe\"", "unsafe").is_empty());
        assert_eq!(lines_with_word("fn f() {\n  unsafe { g() }\n}\n#[unsafe(no_mangle)]", "unsafe"), [2, 4]);
    }

    #[test]
    fn crate_roots_forbid_unsafe_in_code() {
        assert!(forbids_unsafe("//! Doc.\n#![forbid(unsafe_code)]\n"));
        assert!(!forbids_unsafe("// #![forbid(unsafe_code)]\n"));
        assert!(!forbids_unsafe("#![deny(unsafe_code)]\n"));
    }

    #[test]
    fn home_paths_are_absolute() {
        // Put together here, so that this file keeps the rule.
        let path = |folder: &str| format!("one\nsee /{folder}/someone/data");
        assert_eq!(home_paths(&path("home")), [(2, format!("/{}/someone", "home"))]);
        assert_eq!(home_paths(&path("Users")).len(), 1);
        assert_eq!(home_paths(&path("root")).len(), 1);
        assert!(home_paths("https://example.org/home/page $HOME/data ~/data tree/root/leaf /home/ /home/*").is_empty());
    }
}
