use super::*;

const HOPPER: Option<ComputeCapability> = Some(ComputeCapability::new(9, 0));

/// Not in the captures; from NVIDIA's enumeration of the chip's metrics.
const NOT_CAPTURED: [&str; 8] = [
    "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio",
    "sm__ops_path_tensor_src_fp8.sum",
    "smsp__cycles_active.avg.pct_of_peak_sustained_elapsed",
    "smsp__inst_executed_op_local_ld.sum",
    "smsp__inst_executed_op_local_st.sum",
    "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum",
    "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
    "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum",
];

#[test]
fn the_embedded_file_parses_and_every_metric_says_what_it_is() {
    let catalogue = Catalogue::parse(EMBEDDED).unwrap();
    assert!(catalogue.metrics.len() > 80);
    for metric in &catalogue.metrics {
        assert!(metric.description.len() > 8 && !metric.title.is_empty(), "{}", metric.name);
        assert!(!is_ncu_metric(&metric.name), "{}", metric.name);
    }
}

#[test]
fn the_constants_are_the_names_of_the_catalogue() {
    let names: Vec<&str> = Catalogue::embedded().names().collect();
    assert_eq!(super::super::id::ALL.map(|id| id.name()).to_vec(), names);
    assert_eq!(super::super::id::LATENCY_P50.name(), "latency_p50");
}

#[test]
fn an_entry_says_what_it_is_computed_from() {
    let error = |more: &str| {
        let head = "[[metric]]\nname = 'm'\ntitle = 'M'\nunit = ''\nbetter = 'lower'\nkind = 'timing'\n";
        Catalogue::parse(&format!("{head}description = 'of a test'\n{more}")).unwrap_err()
    };
    for (entry, expected) in [
        ("source = 'latency'", "'m': missing field `statistic`"),
        ("source = 'latency'\nstatistic = 'p100'", "'m': `p100` is not a statistic"),
        ("source = 'latency'\nstatistic = 'p90'\nform = 'throughput'", "'m': throughput is computed from the median"),
        ("source = 'build'", "'m': missing field `fact`"),
        ("source = 'build'\nfact = 'waves'", "'m': unknown variant `waves`"),
        ("source = 'check'\nfact = 'correct'\nstatistic = 'p50'", "'m': only a latency has a statistic"),
        ("source = 'ncu'\nncu = 'a__b'\nfact = 'waves'", "'m': a counter is not a fact"),
    ] {
        let error = error(entry);
        assert!(error.starts_with(expected), "{entry}: {error}");
    }
}

#[test]
fn places_are_in_order() {
    let shown = |place| Catalogue::embedded().shown(place).collect::<Vec<_>>();
    assert_eq!(shown(ShownIn::Lead)[..3], ["latency_p50", "latency_p90", "registers"]);
    assert_eq!(shown(ShownIn::Headline)[..2], ["latency_p50", "achieved_occupancy"]);
    assert_eq!((shown(ShownIn::Table).len(), shown(ShownIn::Table)[29]), (30, "dram_bytes"));
    assert_eq!((shown(ShownIn::Deep)[0], shown(ShownIn::Deep)[28]), ("sm_pct", "stall_barrier"));
}

#[test]
fn hopper_definitions_are_names_that_ncu_knows() {
    let known: std::collections::HashSet<&str> = include_str!("../../../../../tests/data/metric/h200-names.txt")
        .lines()
        .filter(|l| !l.starts_with('#'))
        .collect();
    let catalogue = Catalogue::embedded();
    let mut counted = 0;
    for metric in &catalogue.metrics {
        let Ok(definition) = catalogue.definition(&metric.name, HOPPER) else { continue };
        for name in definition.metrics() {
            assert!(known.contains(name) || NOT_CAPTURED.contains(&name), "{}: {name}", metric.name);
            counted += 1;
        }
    }
    assert!(counted > 80, "{counted}");
}

#[test]
fn definitions_follow_the_chip() {
    let catalogue = Catalogue::embedded();
    let tensor = |cc| catalogue.definition("tensor_pct", cc).map(|d| d.metrics()[0].to_owned());
    assert!(tensor(HOPPER).unwrap().starts_with("sm__pipe_tensor_type_hmma_hgmma"));
    assert_eq!(
        tensor(Some(ComputeCapability::new(8, 9))).unwrap(),
        "sm__pipe_tensor_cycles_active_v2.avg.pct_of_peak_sustained_elapsed"
    );
    assert_eq!(
        tensor(Some(ComputeCapability::new(10, 3))).unwrap(),
        "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"
    );
    assert_eq!(tensor(Some(ComputeCapability::new(7, 0))), Err(MetricError::Chip { cc: ComputeCapability::new(7, 0) }));
    let absent = |name: &str, cc| matches!(catalogue.definition(name, cc), Err(MetricError::Absent { .. }));
    assert!(
        absent("dram_bytes", Some(ComputeCapability::new(12, 1)))
            && !absent("dram_bytes", Some(ComputeCapability::new(12, 0)))
    );
    let fp8 = |cc| catalogue.definition("tensor_ops_fp8", Some(cc)).map(|d| d.metrics().len());
    assert_eq!((fp8(ComputeCapability::new(10, 3)), fp8(ComputeCapability::new(8, 9))), (Ok(2), Ok(1)));
    assert!(absent("tensor_ops_fp8", Some(ComputeCapability::new(10, 0))), "10.3 differs from its family");
    assert!(
        absent("stall_gmma", Some(ComputeCapability::new(8, 9)))
            && absent("stall_imc_miss", Some(ComputeCapability::new(10, 0)))
    );
}

#[test]
fn unknown_uncounted_and_verbatim_names() {
    let catalogue = Catalogue::embedded();
    let error = catalogue.definition("eligable_warps", HOPPER).unwrap_err();
    assert_eq!(error.to_string(), "unknown metric `eligable_warps`; did you mean `eligible_warps`?");
    assert!(matches!(catalogue.definition("latency_p50", HOPPER), Err(MetricError::NotCounted { .. })));
    let verbatim = catalogue.definition("sm__warps_active.avg", Some(ComputeCapability::new(7, 0))).unwrap();
    assert_eq!(verbatim.metrics(), ["sm__warps_active.avg"]);
}

/// The share of time in which SMs have work is not the throughput of their busiest pipe.
#[test]
fn active_and_busy_are_two_counters() {
    let counters = |name: &str| {
        let definition = Catalogue::embedded().definition(name, HOPPER).unwrap();
        definition.metrics().into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(counters("sm_active_pct"), ["smsp__cycles_active.avg.pct_of_peak_sustained_elapsed"]);
    assert_eq!(counters("sm_busy_pct"), ["sm__instruction_throughput.avg.pct_of_peak_sustained_elapsed"]);
}

#[test]
fn bank_conflicts_are_of_loads_over_wavefronts_of_loads() {
    let definition = Catalogue::embedded().definition("bank_conflict_pct", HOPPER).unwrap();
    let cell = definition.evaluate(&|name| Some(if name.contains("conflicts") { 2.0 } else { 4_194_304.0 }));
    assert_eq!(cell.value(), Some(100.0 * 2.0 / 4_194_304.0));
}
