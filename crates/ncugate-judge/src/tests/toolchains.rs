use super::*;

/// The fixture with two toolchains: candidates 0 to 3 by `a`, 4 to 7 by `b`.
fn fixture() -> Fixture {
    let gates = "[[gate]]\nrequire = \"latency_p50 < 100\"\n[fallback]\nvariant = \"REGCAP=64,THREADS=64\"\n\
                 require = [\"latency_p50 < 100\"]\n";
    Fixture::new(&format!("[toolchains]\na = {{ nvcc = \"a\" }}\nb = {{ nvcc = \"b\" }}\n{gates}"))
}

fn verdict(of: &[(usize, Correctness)]) -> (Verdict, String) {
    let mut fixture = fixture();
    for (at, correctness) in of {
        fixture.correctness.insert(fixture.plan.variants[*at].id.clone(), correctness.clone());
    }
    let judgement = fixture.judge();
    (judgement.verdict, judgement.reason)
}

#[test]
fn a_toolchain_that_breaks_a_correct_candidate_fails_the_phase_and_no_fallback_helps() {
    let wrong = || Correctness::Wrong { reason: "wrong at shape 'small'".to_owned() };
    let unproven = || Correctness::Unproven { reason: "a case is missing".to_owned() };
    assert_eq!(verdict(&[]).0, Verdict::Pass);
    let (failed, reason) = verdict(&[(5, wrong()), (6, wrong())]);
    assert_eq!(failed, Verdict::Fail);
    let expected =
        "toolchain 'b': REGCAP=64,THREADS=128 is correct by 'a', but here: wrong at shape 'small', and 1 more";
    assert!(reason.contains(expected), "{reason}");
    assert_eq!(verdict(&[(4, unproven())]).0, Verdict::Inconclusive);
    assert_eq!(verdict(&[(1, unproven()), (5, wrong())]).0, Verdict::Inconclusive);
    assert_eq!(verdict(&[(1, wrong()), (5, wrong())]).0, Verdict::Pass, "wrong by both is no matter of the toolchain");
    let all: Vec<(usize, Correctness)> = (0..4).map(|at| (at, wrong())).collect();
    let (open, reason) = verdict(&all);
    assert_eq!(open, Verdict::Inconclusive);
    assert!(reason.contains("no candidate is correct by 'a'"), "{reason}");
}
