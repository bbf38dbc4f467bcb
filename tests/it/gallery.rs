//! The gallery: every phase of `examples/` checks without a GPU, and says in five lines what it shows.

use crate::command::{Finished, Place, root};
use std::env;
use std::fs;
use std::path::PathBuf;

fn phases() -> Vec<PathBuf> {
    let folders = fs::read_dir(root().join("examples")).unwrap().map(|entry| entry.unwrap().path());
    let mut phases: Vec<PathBuf> =
        folders.map(|folder| folder.join("phase.toml")).filter(|path| path.exists()).collect();
    phases.sort();
    phases
}

#[test]
fn every_phase_of_the_gallery_says_what_it_shows() {
    assert!(phases().len() >= 2);
    for phase in phases() {
        let readme = fs::read_to_string(phase.with_file_name("README.md")).unwrap();
        let lines = readme.lines().filter(|line| !line.trim().is_empty()).count();
        assert!((2..=5).contains(&lines), "{}", phase.display());
        let name = phase.strip_prefix(root()).unwrap().display().to_string();
        assert!(readme.contains(&format!("ncugate run {name}")), "{name}");
    }
}

#[test]
fn every_phase_of_the_gallery_and_of_the_traits_checks() {
    let Some(nvcc) = crate::kernels::nvcc() else { return };
    let usual = env::var_os("PATH").unwrap();
    let folders = [nvcc.path().parent().unwrap().to_path_buf()].into_iter().chain(env::split_paths(&usual));
    let path = env::join_paths(folders).unwrap();
    let traits = fs::read_dir(root().join("tests/gpu/traits")).unwrap().map(|entry| entry.unwrap().path());
    let traits = traits.filter(|path| path.extension().is_some_and(|extension| extension == "toml"));
    for phase in phases().into_iter().chain(traits) {
        let place = Place::new();
        let arguments = ["check", phase.to_str().unwrap(), "--arch", "sm_90", "--sms", "132"];
        let checked = Finished::of(place.ncugate(&arguments).current_dir(root()).env("PATH", &path));
        assert_eq!(checked.status, Some(0), "{}: {checked:?}", phase.display());
    }
}
