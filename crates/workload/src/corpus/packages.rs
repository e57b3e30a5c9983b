//! Debian packages with seed text, as dpkg's database lists them.

use super::sources::{ENGLISH, SeedFile, SeedFiles, SourceFacts};
use crate::WorkloadError;
use std::fs;
use std::path::Path;

/// Packages to install for text.
pub const FOR_TEXT: &str = "manpages manpages-de manpages-es manpages-fr manpages-it manpages-ja \
     manpages-nl manpages-pl manpages-pt-br manpages-ru manpages-tr manpages-uk manpages-zh \
     debian-handbook python3-doc";

/// Packages to install for HTML pages.
pub const FOR_PAGES: &str = "debian-handbook python3-doc libreoffice-help-de";

/// Whether a package has seed text.
fn is_known(name: &str) -> bool {
    let python = name.strip_prefix("python3").and_then(|rest| rest.strip_suffix("-doc"));
    let version = |rest: &str| rest.chars().all(|c| c == '.' || c.is_ascii_digit());
    ["manpages", "debian-handbook", "rust-doc"].contains(&name)
        || name.starts_with("manpages-")
        || (name.starts_with("libreoffice-help-") && name != "libreoffice-help-common")
        || python.is_some_and(version)
}

/// Adds the files of the known packages under `root`.
pub fn add(root: &Path, found: &mut SeedFiles) -> Result<(), WorkloadError> {
    let database = root.join("var/lib/dpkg");
    // Without the database there are no packages.
    let status = fs::read(database.join("status")).unwrap_or_default();
    let mut packages = installed(&String::from_utf8_lossy(&status));
    packages.sort();
    let mut without_files = Vec::new();
    for (name, version) in packages {
        let before: usize = found.languages.iter().map(|language| language.files.len()).sum();
        let source = found.sources.len();
        found.sources.push(SourceFacts::Package { name: name.clone(), version, files: 0 });
        for path in listed(&database, &name)? {
            let Some(language) = language_of(&path) else { continue };
            let place = root.join(path.trim_start_matches('/'));
            // A link leads to a file that is listed too; dpkg may exclude files.
            if fs::symlink_metadata(&place).is_ok_and(|meta| meta.is_file()) {
                found.add(&language, SeedFile::new(place, source, Path::new(&path)));
            }
        }
        let after: usize = found.languages.iter().map(|language| language.files.len()).sum();
        // python3-doc has links only: its files are those of python3.11-doc.
        if after == before {
            found.sources.pop();
            without_files.push(name);
        }
    }
    if !found.languages.is_empty() {
        return Ok(());
    }
    Err(if without_files.is_empty() {
        WorkloadError::NoPackages { what: "seed text", packages: FOR_TEXT }
    } else {
        WorkloadError::PackagesWithoutFiles { packages: without_files.join(", ") }
    })
}

/// Name and version of the known packages that are installed.
fn installed(status: &str) -> Vec<(String, String)> {
    let package = |stanza: &str| {
        let field = |name: &str| {
            let line = stanza.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|value| value.strip_prefix(": ")).map(|value| value.trim().to_owned())
        };
        let name = field("Package").filter(|name| is_known(name))?;
        let installed = field("Status").is_some_and(|status| status.ends_with(" installed"));
        installed.then_some((name, field("Version").unwrap_or_default()))
    };
    status.split("\n\n").filter_map(package).collect()
}

/// The paths that a package installs.
fn listed(database: &Path, name: &str) -> Result<Vec<String>, WorkloadError> {
    let path = database.join("info").join(format!("{name}.list"));
    let text = fs::read_to_string(&path).map_err(|error| WorkloadError::read(&path, error))?;
    Ok(text.lines().map(str::to_owned).collect())
}

/// The language of a file with seed text, by its path.
fn language_of(path: &str) -> Option<String> {
    if let Some(rest) = path.strip_prefix("/usr/share/man/") {
        let (folder, file) = rest.split_once('/')?;
        let section = folder.strip_prefix("man");
        let english =
            section.is_some_and(|section| section.starts_with(|c: char| c.is_ascii_digit()));
        return file.ends_with(".gz").then(|| plain(if english { ENGLISH } else { folder }));
    }
    if !path.ends_with(".html") {
        return None;
    }
    let folder = |start: &str| path.strip_prefix(start).and_then(|rest| rest.split('/').next());
    let named = folder("/usr/share/doc/debian-handbook/html/")
        .or_else(|| folder("/usr/share/libreoffice/help/"));
    Some(plain(named.unwrap_or(ENGLISH)))
}

/// A language without its encoding, and without its country where that hardly matters.
fn plain(language: &str) -> String {
    let language = language.replace('-', "_");
    let language = language.split('.').next().unwrap_or_default();
    if ["pt_BR", "zh_CN", "zh_TW"].contains(&language) || language.contains('@') {
        return language.to_owned();
    }
    language.split('_').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_with_text_are_known() {
        for name in ["manpages-pt-br-dev", "python3.11-doc", "python3-doc", "libreoffice-help-fr"] {
            assert!(is_known(name), "{name}");
        }
        for name in ["python3-scipy-doc", "man-db", "libreoffice-help-common", "python3"] {
            assert!(!is_known(name), "{name}");
        }
    }

    #[test]
    fn the_path_of_a_file_names_its_language() {
        let cases = [
            ("/usr/share/man/man7/utf-8.7.gz", Some("en")),
            ("/usr/share/man/de/man1/ls.1.gz", Some("de")),
            ("/usr/share/man/zh_TW/man1/ls.1.gz", Some("zh_TW")),
            ("/usr/share/man/fr.UTF-8/man1/ls.1.gz", Some("fr")),
            ("/usr/share/doc/debian-handbook/html/ar-MA/apt.html", Some("ar")),
            ("/usr/share/doc/debian-handbook/html/pt-BR/apt.html", Some("pt_BR")),
            ("/usr/share/libreoffice/help/en-US/text/a.html", Some("en")),
            ("/usr/share/doc/python3.11/html/bugs.html", Some("en")),
            ("/usr/share/doc/manpages-de/copyright", None),
        ];
        for (path, language) in cases {
            assert_eq!(language_of(path).as_deref(), language, "{path}");
        }
    }
}
