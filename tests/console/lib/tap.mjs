// Runs cases one after the other, and prints them in the Test Anything Protocol.

const PATIENCE_MS = 300_000;

function withPatience(promise, name) {
  let timer;
  const late = new Promise((resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`${name}: no end in ${PATIENCE_MS} ms`)), PATIENCE_MS);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

// Waits until `check` returns something true, and returns that.
export async function until(check, what = String(check)) {
  const end = Date.now() + PATIENCE_MS / 5;
  for (;;) {
    const result = await check();
    if (result) {
      return result;
    }
    if (Date.now() > end) {
      throw new Error(`this does not become true: ${what}`);
    }
    await new Promise((resolve) => { setTimeout(resolve, 20); });
  }
}

// Cases by name. `before` makes what each case gets, and `after` ends it and may fail the case.
export async function runCases(cases, { before, after }) {
  const only = process.argv[2];
  const names = Object.keys(cases).filter((name) => !only || name.includes(only));
  let number = 0;
  console.log(`1..${names.length}`);
  for (const name of names) {
    number++;
    let given;
    let error = null;
    try {
      given = await withPatience(before(), name);
      await withPatience(cases[name](given), name);
    } catch (thrown) {
      error = thrown;
    }
    try {
      if (given) {
        await withPatience(after(given), name);
      }
    } catch (thrown) {
      error ??= thrown;
    }
    console.log(`${error ? 'not ok' : 'ok'} ${number} - ${name}`);
    if (error) {
      process.exitCode = 1;
      console.log(String(error.stack ?? error).replace(/^/gm, '# '));
    }
  }
}
