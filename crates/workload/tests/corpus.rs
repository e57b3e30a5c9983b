//! Corpora: their statistics, their bytes, their manifest, and what is refused.

#![allow(clippy::unwrap_used)] // in functions of tests too

use flate2::{Compression, write::GzEncoder};
use gordon_sort::Records;
use gordon_testkit::skipped;
use gordon_units::{Bytes, Progress, SplitMix64};
use gordon_workload::{
    CorpusConfig, CorpusKind, CorpusManifest, SourceFacts, WorkloadError, generate_corpus,
};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use tempfile::TempDir;

const MIB: u64 = 1 << 20;

fn config(kind: CorpusKind, size: u64, from: &[PathBuf], output: PathBuf) -> CorpusConfig {
    CorpusConfig {
        kind,
        size: Bytes(size),
        part_size: Bytes(MIB),
        seed: 1,
        from: from.to_vec(),
        output,
        threads: Some(2),
        root: PathBuf::from("/nowhere"),
    }
}

fn generate(config: &CorpusConfig) -> Result<CorpusManifest, WorkloadError> {
    generate_corpus(config, &Progress::default())
}

fn content(folder: &Path, manifest: &CorpusManifest) -> Vec<u8> {
    let read = |name: &String| fs::read(folder.join(name)).unwrap();
    manifest.files.iter().flat_map(|file| read(&file.name)).collect()
}

/// Words of a language by Zipf's law: `aa17` is the word of rank 17 of language `aa`.
struct Zipf {
    language: &'static str,
    /// The sum of the weights up to each rank.
    sums: Vec<f64>,
}

impl Zipf {
    fn new(language: &'static str, words: u32, exponent: f64) -> Self {
        let weights = (1..=words).map(|rank| f64::from(rank).powf(-exponent));
        let sums = weights.scan(0.0, |sum, weight| {
            *sum += weight;
            Some(*sum)
        });
        Self { language, sums: sums.collect() }
    }

    #[allow(clippy::cast_precision_loss)]
    fn word(&self, random: &mut SplitMix64) -> String {
        let uniform = (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let at = uniform * self.sums.last().unwrap();
        format!("{}{}", self.language, self.sums.partition_point(|&sum| sum <= at))
    }

    /// A text of headings, of one to three words, and paragraphs of whole sentences.
    fn text(&self, lines: u32) -> String {
        let mut random = SplitMix64(3);
        let mut text = String::new();
        for _ in 0..lines {
            let heading = random.below_u32(4) == 0;
            let sentences = if heading { 1 } else { 1 + random.below_u32(4) };
            for _ in 0..sentences {
                let words =
                    if heading { 1 + random.below_u32(3) } else { 4 + random.below_u32(20) };
                for n in 0..words {
                    let case = if heading { "Head-" } else { "" };
                    let end = if n + 1 == words && !heading { ". " } else { " " };
                    text += &format!("{case}{}{end}", self.word(&mut random));
                }
            }
            text += "\n";
        }
        text
    }
}

/// Folders with the seed text of two languages, `aa` with about four times as much as `bb`.
fn two_languages(folder: &Path) -> (Vec<PathBuf>, [String; 2]) {
    let texts = [Zipf::new("aa", 3000, 1.0).text(6000), Zipf::new("bb", 3000, 0.7).text(1500)];
    let from = ["aa", "bb"].map(|language| folder.join(language));
    for (folder, text) in from.iter().zip(&texts) {
        fs::create_dir(folder).unwrap();
        fs::write(folder.join("seed.txt"), text).unwrap();
    }
    (from.to_vec(), texts)
}

fn counts<'a>(words: impl Iterator<Item = &'a str>) -> BTreeMap<&'a str, u64> {
    let mut found = BTreeMap::new();
    words.for_each(|word| *found.entry(word).or_default() += 1);
    found
}

/// The total variation between two texts over the most frequent 200 words of the first.
#[allow(clippy::cast_precision_loss)]
fn variation(model: &str, text: &str) -> f64 {
    let (model, text) = (counts(model.split_whitespace()), counts(text.split_whitespace()));
    let total = |counts: &BTreeMap<&str, u64>| counts.values().sum::<u64>() as f64;
    let (models, texts) = (total(&model), total(&text));
    let mut top: Vec<_> = model.iter().collect();
    top.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    let share = |word: &str| text.get(word).copied().unwrap_or_default() as f64 / texts;
    let differences = top[..200].iter().map(|&(word, &n)| (n as f64 / models - share(word)).abs());
    differences.sum::<f64>() / 2.0
}

#[test]
#[allow(clippy::cast_precision_loss)]
fn text_has_the_statistics_of_its_seed_text() {
    let folder = tempfile::tempdir().unwrap();
    let (from, texts) = two_languages(folder.path());
    let output = folder.path().join("corpus");
    let manifest = generate(&config(CorpusKind::Text, 12 * MIB, &from, output.clone())).unwrap();
    let text = String::from_utf8(content(&output, &manifest)).unwrap();

    // Languages have their share of bytes. A document of 512 lines is drawn at a time: 170 of them.
    let is_first = |line: &&str| line.contains("aa");
    let (first, second): (Vec<&str>, Vec<&str>) = text.lines().partition(is_first);
    assert!(second.iter().all(|line| line.contains("bb")));
    let bytes = |lines: &[&str]| lines.iter().map(|line| line.len() as f64).sum::<f64>();
    let share = bytes(&first) / (bytes(&first) + bytes(&second));
    let expected = texts[0].len() as f64 / (texts[0].len() + texts[1].len()) as f64;
    assert!((share - expected).abs() < 0.1, "{share} and {expected}");

    for (lines, seed) in [(first, &texts[0]), (second, &texts[1])] {
        let joined = lines.join("\n");
        let found = variation(seed, &joined);
        assert!(found < 0.01, "total variation {found}");

        // Lines have the mean length and the quartiles of the seed text.
        let lengths = |lines: &mut dyn Iterator<Item = &str>| {
            let mut found: Vec<usize> = lines.map(|line| line.split_whitespace().count()).collect();
            found.sort_unstable();
            let mean = found.iter().sum::<usize>() as f64 / found.len() as f64;
            let quartile = |n: usize| found[found.len() * n / 4] as f64;
            [mean, quartile(1), quartile(2), quartile(3)]
        };
        let found = lengths(&mut lines.iter().copied());
        let expected = lengths(&mut seed.lines());
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() <= 0.15 * expected + 1.0, "{found} and {expected}");
        }
    }
    // The measure can fail: the languages differ from each other.
    assert!(variation(&texts[0], &texts[0].replace("aa1", "aa2")) > 0.02);
}

#[test]
fn phrases_are_heavy_tailed() {
    let folder = tempfile::tempdir().unwrap();
    let (from, _) = two_languages(folder.path());
    let output = folder.path().join("corpus");
    let manifest = generate(&config(CorpusKind::Text, 2 * MIB, &from, output.clone())).unwrap();
    let text = String::from_utf8(content(&output, &manifest)).unwrap();
    let mut phrases: HashMap<[&str; 3], u64> = HashMap::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.windows(3).for_each(|w| *phrases.entry([w[0], w[1], w[2]]).or_default() += 1);
    }
    let total: u64 = phrases.values().sum();
    let mut sorted: Vec<u64> = phrases.values().copied().collect();
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    let top: u64 = sorted[..sorted.len() / 100].iter().sum();
    let once = sorted.iter().filter(|&&count| count == 1).count();
    assert!(sorted[0] > 100, "{}", sorted[0]);
    assert!(top * 20 > total, "the first hundredth has {top} of {total}");
    assert!(once * 3 > sorted.len(), "{once} of {}", sorted.len());
}

/// HTML pages of a language, with links.
fn pages(folder: &Path, language: &'static str) {
    let zipf = Zipf::new(language, 500, 1.0);
    let mut random = SplitMix64(5);
    fs::create_dir(folder).unwrap();
    for n in 0..20 {
        let mut words =
            |count| (0..count).map(|_| zipf.word(&mut random) + " ").collect::<String>();
        let title = words(3);
        let body: String = (0..10 + n)
            .map(|_| {
                format!("<p class=\"\\x\">{} <a href=\"a.html\">{}</a>.\n", words(30), words(2))
            })
            .collect();
        let page = format!("<!DOCTYPE html><html><head><title>{title}</title></head><body>{body}");
        fs::write(folder.join(format!("{n}.html")), page + "</body></html>").unwrap();
    }
}

#[test]
fn threads_do_not_change_the_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let (from, _) = two_languages(folder.path());
    let site = vec![folder.path().join("site")];
    pages(&site[0], "ww");
    let cases = [
        (CorpusKind::Text, from),
        (CorpusKind::Web, site),
        (CorpusKind::Numbers, vec![]),
        (CorpusKind::Records, vec![]),
    ];
    for (kind, from) in cases {
        let made = |name: &str, threads, seed| {
            let output = folder.path().join(format!("{kind:?}-{name}"));
            let mut config = config(kind, 5 * MIB, &from, output.clone());
            (config.threads, config.seed) = (Some(threads), seed);
            let manifest = generate(&config).unwrap();
            (content(&output, &manifest), fs::read(output.join("manifest.json")).unwrap())
        };
        let one = made("one", 1, 1);
        assert!(one.0.len() as u64 > 5 * MIB * 98 / 100, "{kind:?}: {}", one.0.len());
        assert!(one.0.len() as u64 <= 5 * MIB);
        assert!(one == made("four", 4, 1), "{kind:?}");
        assert!(one.0 != made("other", 4, 2).0, "{kind:?}");
    }
}

#[test]
fn the_manifest_describes_the_files() {
    let folder = tempfile::tempdir().unwrap();
    let (from, texts) = two_languages(folder.path());
    let output = folder.path().join("corpus");
    let made = generate(&config(CorpusKind::Text, 3 * MIB, &from, output.clone())).unwrap();
    let text = fs::read_to_string(output.join("manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
    let (mut bytes, mut records, mut sum) = (0, 0, 0);
    for file in manifest["files"].as_array().unwrap() {
        let content = fs::read(output.join(file["name"].as_str().unwrap())).unwrap();
        assert_eq!(file["bytes"], content.len());
        assert_eq!(file["crc32c"], format!("{:08x}", crc32c::crc32c(&content)));
        let lines = content.strip_suffix(b"\n").unwrap().split(|&byte| byte == b'\n');
        let crcs: Vec<u64> = lines.map(|line| u64::from(crc32fast::hash(line))).collect();
        assert_eq!(file["records"], crcs.len());
        assert_eq!(file["checksum"], format!("{:x}", crcs.iter().sum::<u64>()));
        bytes += content.len();
        records += crcs.len();
        sum += crcs.iter().sum::<u64>();
    }
    assert_eq!((&manifest["bytes"], &manifest["records"]), (&bytes.into(), &records.into()));
    assert_eq!(manifest["checksum"], format!("{sum:x}"));
    assert_eq!(manifest["kind"], "text");
    assert_eq!(made.files.len(), 3);
    let languages = manifest["languages"].as_array().unwrap();
    for (language, text) in languages.iter().zip(&texts) {
        assert_eq!(language["lines"], text.lines().count());
        assert_eq!(language["words"], text.split_whitespace().count());
    }
    let source = SourceFacts::Folder { path: from[0].clone(), files: 1 };
    assert_eq!(made.sources[0], source);
    let names: HashSet<_> =
        fs::read_dir(&output).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 4);
}

#[test]
fn web_pages_have_the_tags_of_their_sources_and_link_to_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let from = vec![folder.path().join("site")];
    pages(&from[0], "ww");
    let output = folder.path().join("corpus");
    let manifest = generate(&config(CorpusKind::Web, 4 * MIB, &from, output.clone())).unwrap();
    assert_eq!(manifest.parameters.templates, Some(20));
    let text = String::from_utf8(content(&output, &manifest)).unwrap();
    let mut urls = HashSet::new();
    let mut links: HashMap<String, u64> = HashMap::new();
    for line in text.lines() {
        let record: HashMap<String, String> = serde_json::from_str(line).unwrap();
        assert_eq!(record.len(), 2);
        assert!(urls.insert(record["url"].clone()));
        let html = &record["html"];
        assert!(html.starts_with("<!DOCTYPE html><html><head><title>ww"), "{html}");
        assert!(html.ends_with(".\n</body></html>"));
        assert!(html.contains("<p class=\"\\x\">ww"));
        for link in html.split("<a href=\"").skip(1) {
            *links.entry(link[..link.find('"').unwrap()].to_owned()).or_default() += 1;
        }
    }
    assert_eq!(manifest.records, urls.len() as u64);
    let total: u64 = links.values().sum();
    let broken: u64 = links.iter().filter(|(url, _)| !urls.contains(*url)).map(|(_, n)| n).sum();
    assert!(broken * 50 < total, "{broken} of {total} links lead nowhere");
    let most = *links.values().max().unwrap();
    assert!(most > 20 * total / links.len() as u64, "{most} of {total}");
    let found = variation(&words_of(&from[0]), &strip(&text));
    assert!(found < 0.01, "total variation {found}");
}

/// Words of pages whose words start with `ww`.
fn strip(text: &str) -> String {
    let apart = |c: char| !c.is_ascii_alphanumeric();
    text.split(apart)
        .filter(|word| word.starts_with("ww"))
        .map(|word| word.to_owned() + " ")
        .collect()
}

fn words_of(folder: &Path) -> String {
    let read = |entry: std::io::Result<fs::DirEntry>| {
        strip(&fs::read_to_string(entry.unwrap().path()).unwrap())
    };
    fs::read_dir(folder).unwrap().map(read).collect()
}

#[test]
fn records_are_those_of_the_sort_benchmark() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("corpus");
    let mut config = config(CorpusKind::Records, 2 * MIB + 50, &[], output.clone());
    let manifest = generate(&config).unwrap();
    let mut expected = vec![0; (2 * MIB + 50) as usize / 100 * 100];
    Records::new(false, false).fill(0, &mut expected);
    assert_eq!(content(&output, &manifest), expected);
    let sum: u64 = expected.chunks(100).map(|record| u64::from(crc32fast::hash(record))).sum();
    assert_eq!(manifest.checksum, format!("{sum:x}"));
    (config.seed, config.output) = (3, folder.path().join("other"));
    let manifest = generate(&config).unwrap();
    Records::new(false, false).fill(2 << 64, &mut expected);
    assert_eq!(content(&config.output, &manifest), expected);
}

#[test]
fn numbers_are_signed_integers_of_64_bits() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("corpus");
    let manifest = generate(&config(CorpusKind::Numbers, MIB, &[], output.clone())).unwrap();
    let text = String::from_utf8(content(&output, &manifest)).unwrap();
    let numbers: Vec<i64> = text.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(numbers.len() as u64, manifest.records);
    let small = numbers.iter().filter(|&&number| number < i64::MAX / 4).count();
    // Standard deviation 100 of 52,000.
    assert!(small.abs_diff(numbers.len() / 4) < 500, "{small} of {}", numbers.len());
}

fn gz(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut to = GzEncoder::new(fs::File::create(path).unwrap(), Compression::fast());
    to.write_all(text.as_bytes()).unwrap();
    to.finish().unwrap();
}

/// A root folder with packages in dpkg's database.
fn packages(packages: &[(&str, &[(&str, &str)])]) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    let info = root.path().join("var/lib/dpkg/info");
    fs::create_dir_all(&info).unwrap();
    let mut status = String::new();
    for (name, files) in packages {
        status += &format!("Package: {name}\nStatus: install ok installed\nVersion: 1.2-3\n\n");
        let mut list = String::from("/.\n");
        for (path, text) in *files {
            list += &format!("{path}\n");
            if !text.is_empty() {
                gz(&root.path().join(path.trim_start_matches('/')), text);
            }
        }
        fs::write(info.join(format!("{name}.list")), list).unwrap();
    }
    fs::write(root.path().join("var/lib/dpkg/status"), status).unwrap();
    root
}

#[test]
fn packages_give_text_by_language() {
    let english = ".TH A 1\n.SH NAME\na \\- lists \\fBfiles\\fP\n.PP\nNot translated.\n";
    let german = ".TH A 1\n.SH BEZEICHNUNG\na \\- zeigt \\fBDateien\\fP an\n.PP\nNot translated.\n\
                  .PP\nDoppelt.\n.PP\nDoppelt.\n.PP\n1 2 3\n";
    let root = packages(&[
        ("bash", &[("/usr/share/man/man1/bash.1.gz", ".SH OTHER\n")]),
        ("manpages", &[("/usr/share/man/man1/a.1.gz", english)]),
        ("manpages-de", &[("/usr/share/man/de/man1/a.1.gz", german)]),
        ("manpages-fr", &[("/usr/share/man/fr/man1/a.1.gz", "")]),
    ]);
    let folder = tempfile::tempdir().unwrap();
    let mut config = config(CorpusKind::Text, MIB, &[], folder.path().join("corpus"));
    config.root = root.path().into();
    let manifest = generate(&config).unwrap();
    let facts: Vec<_> =
        manifest.languages.iter().map(|l| (l.language.as_str(), l.lines, l.words)).collect();
    // NAME; a - lists files; Not translated. BEZEICHNUNG; a - zeigt Dateien an; Doppelt.
    assert_eq!(facts, [("de", 3, 7), ("en", 3, 7)]);
    let source =
        |name: &str| SourceFacts::Package { name: name.into(), version: "1.2-3".into(), files: 1 };
    assert_eq!(manifest.sources, [source("manpages"), source("manpages-de")]);
    let text = String::from_utf8(content(&config.output, &manifest)).unwrap();
    let lines: HashSet<&str> = text.lines().collect();
    let expected = ["NAME", "a - lists files", "Not translated.", "BEZEICHNUNG"];
    assert!(expected.iter().all(|line| lines.contains(line)), "{lines:?}");
    assert!(lines.iter().all(|line| !line.contains("OTHER")));
}

#[test]
fn missing_seed_text_is_an_error_that_names_packages_or_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let output = path("corpus");
    let fails = |kind, from: &[PathBuf], root: &Path| {
        let mut config = config(kind, MIB, from, output.clone());
        config.root = root.into();
        let error = generate(&config).unwrap_err();
        assert!(error.to_string().contains("\n  try: "), "{error}");
        error
    };
    let root = packages(&[]);
    let error = fails(CorpusKind::Text, &[], root.path());
    assert!(matches!(&error, WorkloadError::NoPackages { .. }), "{error}");
    assert!(error.to_string().contains("apt install manpages"), "{error}");
    let root = packages(&[("manpages-de", &[("/usr/share/man/de/man1/a.1.gz", "")])]);
    let error = fails(CorpusKind::Text, &[], root.path());
    assert!(
        matches!(&error, WorkloadError::PackagesWithoutFiles { packages } if packages == "manpages-de")
    );
    let root = packages(&[("manpages", &[("/usr/share/man/man1/a.1.gz", ".SH NAME\n")])]);
    let error = fails(CorpusKind::Web, &[], root.path());
    assert!(matches!(&error, WorkloadError::NoPackages { what: "HTML pages", .. }), "{error}");

    for (name, bytes) in [("empty", None), ("binary", Some(&b"a\0b"[..])), ("blank", Some(b" \n"))]
    {
        fs::create_dir(path(name)).unwrap();
        if let Some(bytes) = bytes {
            fs::write(path(name).join("file"), bytes).unwrap();
        }
        let error = fails(CorpusKind::Text, &[path(name)], root.path());
        assert!(
            matches!(&error, WorkloadError::NoSeedText { path: found, .. } if *found == path(name))
        );
    }
    fs::create_dir(path("latin")).unwrap();
    fs::write(path("latin").join("a.gz"), "no gzip").unwrap();
    fs::write(path("latin").join("b.txt"), b"caf\xe9\n").unwrap();
    let error = fails(CorpusKind::Text, &[path("latin")], root.path());
    assert!(matches!(&error, WorkloadError::NoSeedText { .. }), "{error}");
    fs::write(path("latin").join("c.txt"), "words\n").unwrap();
    let error = fails(CorpusKind::Web, &[path("latin")], root.path());
    assert!(matches!(&error, WorkloadError::NoPages(_)), "{error}");
    let error = fails(CorpusKind::Text, &[path("none")], root.path());
    assert!(matches!(&error, WorkloadError::Read { .. }), "{error}");
    assert!(!output.exists());
}

#[test]
fn bad_options_and_outputs_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let good = config(CorpusKind::Numbers, MIB, &[], folder.path().join("corpus"));
    let error = |change: &dyn Fn(&mut CorpusConfig)| {
        let mut bad = good.clone();
        change(&mut bad);
        generate(&bad).unwrap_err()
    };
    let option = |change: &dyn Fn(&mut CorpusConfig)| match error(change) {
        WorkloadError::Option { option, .. } => option,
        other => panic!("{other}"),
    };
    assert_eq!(option(&|bad| bad.size = Bytes(0)), "size");
    assert_eq!(option(&|bad| bad.size = Bytes(1)), "size");
    assert_eq!(option(&|bad| bad.part_size = Bytes(1000)), "part-size");
    assert_eq!(option(&|bad| bad.size = Bytes(1 << 50)), "part-size");
    assert_eq!(option(&|bad| bad.threads = Some(0)), "threads");
    assert_eq!(option(&|bad| bad.from = vec!["/tmp".into()]), "from");
    assert_eq!(option(&|bad| bad.output = "..".into()), "output");
    let full = error(&|bad| (bad.size, bad.part_size) = (Bytes(1 << 60), Bytes(1 << 50)));
    assert!(matches!(full, WorkloadError::DiskFull { .. }), "{full}");
    let missing = error(&|bad| bad.output = folder.path().join("no/corpus"));
    assert!(matches!(missing, WorkloadError::MissingFolder(..)), "{missing}");
    fs::create_dir(folder.path().join("there")).unwrap();
    let exists = error(&|bad| bad.output = folder.path().join("there"));
    assert!(matches!(exists, WorkloadError::Exists(_)), "{exists}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_stop_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(CorpusKind::Numbers, 1 << 30, &[], folder.path().join("corpus"));
    let progress = Progress::default();
    let result = std::thread::scope(|scope| {
        let made = scope.spawn(|| generate_corpus(&config, &progress));
        while progress.progress().0 == 0 {
            std::thread::yield_now();
        }
        progress.stop.store(true, Ordering::Relaxed);
        made.join().unwrap()
    });
    assert!(matches!(result, Err(WorkloadError::Stopped)));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
#[allow(clippy::cast_precision_loss)]
fn installed_packages_give_pages() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("corpus");
    let mut config = config(CorpusKind::Web, 8 * MIB, &[], output.clone());
    config.root = "/".into();
    let manifest = match generate(&config) {
        Ok(manifest) => manifest,
        Err(
            error @ (WorkloadError::NoPackages { .. } | WorkloadError::PackagesWithoutFiles { .. }),
        ) => return skipped(&format!("pages of installed packages: {error}")),
        Err(error) => panic!("{error}"),
    };
    assert!(manifest.bytes as f64 > 0.95 * config.size.0 as f64, "{}", manifest.bytes);
    let text = String::from_utf8(content(&output, &manifest)).unwrap();
    let titled = |line: &&str| line.to_ascii_lowercase().contains("<title");
    let titled = text.lines().filter(titled).count() as u64;
    assert!(titled * 10 > manifest.records * 9, "{titled} of {}", manifest.records);
    assert!(text.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()));
}
