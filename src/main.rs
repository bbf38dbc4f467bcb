//! temporary
use clap::Parser;
#[derive(Parser)]
enum Cli {
    Show(ncugate::commands::show::ShowArgs),
}
fn main() {
    let Cli::Show(args) = Cli::parse();
    if let Err(e) = ncugate::commands::show::show(&args, &mut std::io::stdout().lock()) {
        eprint!("error: {e}");
        let mut s: &dyn std::error::Error = &e;
        while let Some(n) = s.source() {
            eprint!(": {n}");
            s = n;
        }
        eprintln!();
        std::process::exit(3);
    }
}
