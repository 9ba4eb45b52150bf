// The description of the API: a public validator accepts it, a client made from it works, and answers
// have the schemas that it promises.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';

const require = createRequire(`${process.env.NODE_PATH}/`);
const { Validator } = await import(require.resolve('@seriousme/openapi-schema-validator'));
const { default: Ajv } = await import(require.resolve('ajv'));
const { OpenAPIClientAxios } = require('openapi-client-axios');

const URL_OF_API = process.env.QLESSD_HTTP;
const description = await (await fetch(`${URL_OF_API}/v1/openapi.json`)).json();

const api = new OpenAPIClientAxios({
  definition: structuredClone(description),
  axiosConfigDefaults: {
    baseURL: URL_OF_API,
    validateStatus: () => true,
    paramsSerializer: { indexes: null }, // a=1&a=2, which is the default of OpenAPI
  },
});
const client = await api.init();

// References within a schema become what they refer to.
function resolve(value) {
  if (Array.isArray(value)) {
    return value.map(resolve);
  }
  if (value === null || typeof value !== 'object') {
    return value;
  }
  if (value.$ref !== undefined) {
    const found = value.$ref.slice(2).split('/').reduce((at, name) => at[name], description);
    return resolve(found);
  }
  return Object.fromEntries(Object.entries(value).map(([name, v]) => [name, resolve(v)]));
}

const operations = Object.values(description.paths).flatMap((path) => Object.values(path));

function schemaOf(id, status) {
  const { responses } = operations.find((operation) => operation.operationId === id);
  return resolve(responses[status] ?? responses.default).content['application/json'].schema;
}

const called = new Set();

// Calls an operation, and checks its answer against the description. Without a body, axios says that
// a form is sent, which the server refuses.
async function call(id, parameters, body = /^(post|put|patch)/.test(id) ? {} : undefined,
  status = 200) {
  const answer = await client[id](parameters, body);
  assert.equal(answer.status, status, `${id}: ${JSON.stringify(answer.data)}`);
  const validate = new Ajv({ strict: false }).compile(schemaOf(id, answer.status));
  assert(validate(answer.data),
    `${id}: ${JSON.stringify(validate.errors)} in ${JSON.stringify(answer.data)}`);
  called.add(id);
  return answer.data;
}

const cases = {
  'a public validator accepts the description': async () => {
    const result = await new Validator().validate(structuredClone(description));
    assert(result.valid, JSON.stringify(result.errors));
  },

  'a client that is made from the description works': async () => {
    const q = { queue: 'mail' };
    const job = { jid: 'j1', class: 'Send', data: { to: 'x' }, tags: ['t'], priority: 2 };
    assert.deepEqual(await call('postQueuesByQueueJobs', q, job, 201), { jid: 'j1' });
    assert.deepEqual(
      await call('postQueuesByQueueJobs', q, [{ class: 'k', data: 1, jid: 'j2' }], 201),
      { jids: ['j2'], outcomes: ['put'] });
    assert.deepEqual(
      await call('postQueuesByQueueJobs', q, [{ class: 'k', data: 1, jid: 'j2', nx: true }], 200),
      { jids: [null], outcomes: ['exists'] });
    const [popped] = await call('postQueuesByQueuePop', q, { worker: 'w', count: 1 });
    assert.equal(popped.jid, 'j1');
    const j = { jid: 'j1' };
    await call('postJobsByJidStart', j, { worker: 'w', pid: 3 });
    await call('postJobsByJidHeartbeat', j, { worker: 'w' });
    await call('postJobsByJidProgress', j, { worker: 'w', percent: 5 });
    await call('postJobsByJidRetry', j, { worker: 'w' });
    await call('postPop', null, { worker: 'w', queues: ['mail', 'other'], timeout: 5 });
    await call('postJobsByJidFail', j, { worker: 'w', group: 'g', message: 'm' });
    await call('getFailures');
    await call('getFailuresByGroup', { group: 'g' });
    await call('postFailuresByGroupRetry', { group: 'g' }, { queue: 'mail' });
    await call('postQueuesByQueuePop', q, { worker: 'w', count: 1 });
    await call('postJobsByJidComplete', j, { worker: 'w', result: [1] });
    await call('getJobsByJidWait', { jid: 'j1', timeout: 5 });
    await call('getJobsByJidResult', j);
    await call('postJobsByJidRequeue', j, { queue: 'mail' });
    for (const [id, body] of [['Priority', { priority: 5 }], ['Tag', { tags: ['a'] }],
      ['Untag', { tags: ['a'] }], ['Track', undefined], ['Untrack', undefined],
      ['Log', { message: 'hello' }]]) {
      await call(`postJobsByJid${id}`, j, body);
    }
    await call('patchJobsByJidMeta', j, { fields: { a: 'b' } });
    await call('getJobsByJidMeta', j);
    await call('deleteJobsByJidMeta', { jid: 'j1', field: ['a'] });
    await call('postJobsByJidCancel', j, { with: ['j2'] });
  },

  'what is wrong is told as the description says': async () => {
    assert.equal((await call('getJobsByJid', { jid: 'none' }, null, 404)).error.code, 'NOJOB');
    assert.equal((await call('postQueuesByQueuePop', { queue: 'q' }, {}, 400)).error.code,
      'BADARG');
  },

  'each route for reading answers as the description says': async () => {
    await call('postQueuesByQueueJobs', { queue: 'q' },
      { jid: 'j', class: 'k', data: {}, tags: ['t'] }, 201);
    await call('postQueuesByQueueRecurring', { queue: 'q' },
      { jid: 'r', class: 'k', data: {}, interval: 60 }, 201);
    await call('putLimitsByName', { name: 'l' }, { concurrency: 1 });
    await call('putEndpointsByName', { name: 'l' }, { url: `${URL_OF_API}/nothing`, queues: ['p'] });
    const values = { queue: 'q', jid: 'j', state: 'waiting', tag: 't', worker: 'w', name: 'l',
      group: 'g', option: 'heartbeat' };
    for (const operation of operations) {
      const id = operation.operationId;
      // The events have no end.
      if (!id.startsWith('get') || id === 'getEvents') {
        continue;
      }
      const parameters = {};
      for (const parameter of resolve(operation.parameters).filter((p) => p.required)) {
        parameters[parameter.name] =
          parameter.schema.type === 'array' ? [values[parameter.name]] : values[parameter.name];
      }
      if (id.includes('Wait')) {
        parameters.timeout = 0.01;
      }
      if (id.startsWith('getRecurringByJid')) {
        parameters.jid = 'r';
      }
      await call(id, parameters);
    }
  },

  'each route for writing has been called': async () => {
    const e = { name: 'e' };
    await call('putEndpointsByName', e,
      { url: `${URL_OF_API}/nothing`, queues: ['pushed'], headers: { 'X-A': '1' }, timeout: 5 });
    await call('postEndpointsByNamePause', e);
    await call('postEndpointsByNameUnpause', e);
    await call('postEndpointsByNameTest', e);
    await call('getEndpointsByName', e);
    await call('getEndpoints');
    await call('deleteEndpointsByName', e);
    await call('patchRecurringByJid', { jid: 'r' }, { priority: 1 });
    await call('postRecurringByJidTag', { jid: 'r' }, { tags: ['a'] });
    await call('postRecurringByJidUntag', { jid: 'r' }, { tags: ['a'] });
    await call('deleteRecurringByJid', { jid: 'r' });
    await call('postLimitsByNameHold', { name: 'l' }, { seconds: 1 });
    await call('deleteLimitsByName', { name: 'l' });
    await call('putOptionsByOption', { option: 'heartbeat' }, { value: 50 });
    await call('deleteOptionsByOption', { option: 'heartbeat' });
    await call('postQueuesByQueuePop', { queue: 'q' }, { worker: 'w', count: 9 });
    await call('postWorkersByWorkerHeartbeat', { worker: 'w' });
    await call('postWorkersByWorkerHeartbeats', { worker: 'w' }, { jids: ['j'] });
    await call('postQueuesByQueueComplete', { queue: 'q' },
      { worker: 'w', jobs: [{ jid: 'j', data: {} }] });
    await call('postWorkersByWorkerRelease', { worker: 'w' }, {});
    await call('deleteJobsByJid', { jid: 'j' });
    for (const [jid, options] of [['t', {}], ['d', { depends: ['t'] }]]) {
      await call('postQueuesByQueueJobs', { queue: 'q2' },
        { jid, class: 'k', data: {}, ...options }, 201);
    }
    await call('postJobsByJidDepends', { jid: 'd' }, { off: ['all'] });
    await call('postJobsByJidCancel', { jid: 'd' });
    await call('postQueuesByQueuePop', { queue: 'q2' }, { worker: 'w' });
    await call('postJobsByJidTimeout', { jid: 't' });
    await call('postQueuesByQueuePop', { queue: 'q2' }, { worker: 'w' });
    await call('postJobsTimeout', null, { jids: ['t'] });
    await call('postQueuesByQueuePop', { queue: 'q2' }, { worker: 'w' });
    await call('postJobsByJidAbort', { jid: 't' }, { group: 'g', message: 'dead' });
    await call('postJobsDelete', null, { jids: ['none'] });
    await call('postJobsCancel', null, { jids: ['none'] });
    await call('postQueuesByQueuePause', { queue: 'q' });
    await call('postQueuesByQueueUnpause', { queue: 'q' });
    await call('deleteQueuesByQueue', { queue: 'q' });
    await call('deleteWorkersByWorker', { worker: 'w' });
    await call('postConsistencycheck', null, {});
    await call('postRewrite');
    await call('postLogin', null, { user: 'nobody', password: 'x' }, 401);
    await call('postLogout');
    const left = operations.map((o) => o.operationId).filter((id) => !called.has(id));
    // The only client is the one that would call it.
    assert.deepEqual(left, ['deleteClientsById', 'getEvents']);
  },
};

console.log(`1..${Object.keys(cases).length}`);
let failed = false;
let number = 0;
for (const [name, check] of Object.entries(cases)) {
  number++;
  try {
    await check();
    console.log(`ok ${number} - ${name}`);
  } catch (error) {
    failed = true;
    console.log(`not ok ${number} - ${name}`);
    console.log(error.stack.replace(/^/gm, '# '));
  }
}
process.exit(failed ? 1 : 0);
