// An endpoint over TLS that speaks HTTP/2, and HTTP/1.1 with clients that do not.
// usage: node endpoint2.mjs CERTIFICATE KEY
//
// Prints its port. It answers with the version of HTTP, and then as many bytes as the path says.

import { readFileSync } from 'node:fs';
import { createSecureServer } from 'node:http2';

const [certificate, key] = process.argv.slice(2);
const server = createSecureServer({
  allowHTTP1: true,
  cert: readFileSync(certificate),
  key: readFileSync(key),
});

server.on('request', (request, response) => {
  request.resume();
  request.on('end', () => {
    const more = Number(request.url.slice(1));
    response.setHeader('X-Long', 'x'.repeat(more));
    response.end(request.httpVersion + 'x'.repeat(more));
  });
});
server.on('sessionError', () => {});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
