// This program lets github.com/beowolx/rensa do the work of a row of versus.
//
//     driver JOB SIZE FILE
//
// JOB is R-MinHash or C-MinHash. FILE has the hashes of sets of SIZE elements: numbers of 64 bits in
// little endian. For each line with a number n on the standard input it makes n signatures of 128
// values, and answers with the seconds that it took. It uses one thread.
//
// Users of rensa reach it through Python only, and what is measured here is not the way through
// Python. So this program takes the files of the clone that compute; versus writes the folder of the
// clone in place of {DIR}. The rest of rensa needs crates.

#![allow(dead_code)]

use std::hint::black_box;
use std::io::BufRead;
use std::time::Instant;

#[path = "{DIR}/src/simd/mod.rs"]
mod simd;
#[path = "{DIR}/src/utils.rs"]
mod utils;

// What core.rs expects of cminhash.rs, which needs crates.
mod cminhash {
    #[path = "{DIR}/src/cminhash/core.rs"]
    mod core;

    const HASH_BATCH_SIZE: usize = 32;

    pub struct CMinHash {
        num_perm: usize,
        seed: u64,
        hash_values: Vec<u64>,
        sigma_a: u64,
        sigma_b: u64,
        pi_c: u64,
        pi_d: u64,
        pi_precomputed: Vec<u64>,
    }

    /// Returns what makes signatures of sets of hashes.
    pub fn signer(values: usize, mut random: impl FnMut() -> u64) -> impl FnMut(&[u64]) {
        let (sigma_a, sigma_b) = (random() | 1, random());
        let (pi_c, pi_d) = (random() | 1, random());
        let pi = CMinHash::build_pi_precomputed(values, pi_c, pi_d);
        let mut signature = vec![u64::MAX; values];
        move |hashes| {
            signature.fill(u64::MAX);
            CMinHash::apply_token_hashes_to_values(&mut signature, hashes, sigma_a, sigma_b, pi_c, &pi);
            std::hint::black_box(&signature);
        }
    }
}

/// Returns what makes signatures of sets of hashes.
fn r_signer(values: usize, mut random: impl FnMut() -> u64) -> impl FnMut(&[u64]) {
    let permutations: Vec<(u64, u64)> = (0..values).map(|_| (random() | 1, random())).collect();
    let soa = simd::dispatch::PermutationSoA::from_permutations(&permutations);
    let mut signature = vec![u32::MAX; values];
    move |hashes| {
        signature.fill(u32::MAX);
        simd::dispatch::apply_hash_batch_to_values(&mut signature, &permutations, &soa, hashes);
        black_box(&signature);
    }
}

/// Answers each line with the time of as many signatures.
fn serve(hashes: &[u64], size: usize, mut sign: impl FnMut(&[u64])) -> Result<(), String> {
    let sets = hashes.len() / size;
    let mut next = 0;
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|e| e.to_string())?;
        let n: u64 = line.parse().map_err(|e| format!("{line:?}: {e}"))?;
        let start = Instant::now();
        for _ in 0..n {
            sign(&hashes[next % sets * size..][..size]);
            next += 1;
        }
        println!("{{\"seconds\": {:.9}}}", start.elapsed().as_secs_f64());
    }
    Ok(())
}

fn run() -> Result<(), String> {
    let args: Vec<String> = std::env::args().collect();
    let [_, job, size, file] = args.as_slice() else {
        return Err("usage: driver JOB SIZE FILE".into());
    };
    let size: usize = size.parse().map_err(|e| format!("{size:?}: {e}"))?;
    let data = std::fs::read(file).map_err(|e| format!("{file}: {e}"))?;
    let hashes: Vec<u64> = data.chunks_exact(8).map(|b| u64::from_le_bytes(b.try_into().unwrap())).collect();
    let mut state = 1u64;
    let random = || {
        // xorshift64*
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    };
    match job.as_str() {
        "R-MinHash" => serve(&hashes, size, r_signer(128, random)),
        "C-MinHash" => serve(&hashes, size, cminhash::signer(128, random)),
        _ => Err(format!("there is no job {job}")),
    }
}

fn main() {
    if let Err(e) = run() {
        eprintln!("rensa: {e}");
        std::process::exit(1);
    }
}
