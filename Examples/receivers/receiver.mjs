#!/usr/bin/env node
// Receives webhooks, verifies signatures, drops duplicates: WEBHOOK_SECRETS="whsec_… [whsec_…]" receiver.mjs 9000
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';

const toleranceSeconds = 300, maximumBody = 1024 * 1024, remembered = 10_000;
const secrets = process.env.WEBHOOK_SECRETS?.match(/(?<=\bwhsec_)[A-Za-z0-9+/]{32,}=*/g);
if (!secrets) throw new Error('WEBHOOK_SECRETS must hold secrets, whsec_…');
const keys = secrets.map((text) => Buffer.from(text, 'base64'));
// The work on each webhook by id, oldest first; a real service keeps the ids in its database.
const handled = new Map();

function isGenuine(identifier, timestamp, signatures, body) {
  if (!/^\d+$/.test(timestamp) || Math.abs(Date.now() / 1000 - Number(timestamp)) > toleranceSeconds) return false;
  const theirs = signatures.split(' ').map((text) => Buffer.from(text));
  return keys.some((key) => {
    const signature = createHmac('sha256', key).update(`${identifier}.${timestamp}.`).update(body).digest('base64');
    const ours = Buffer.from(`v1,${signature}`);
    return theirs.some((other) => other.length === ours.length && timingSafeEqual(other, ours));
  });
}

/** The work itself. If it throws, the answer is 500, and routerd tries again later. */
async function handle(body) {
  const event = JSON.parse(body);
  console.log(event.type, event.data.targetContentIdentifier, JSON.stringify(event.data.payload));
}

async function answer(request) {
  if (request.method !== 'POST') return 405;
  if (!(Number(request.headers['content-length']) <= maximumBody)) return 413;
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  const [identifier, timestamp, signatures] =
    ['id', 'timestamp', 'signature'].map((name) => request.headers[`webhook-${name}`] ?? '');
  if (!isGenuine(identifier, timestamp, signatures, body)) return 401;
  if (!handled.has(identifier)) handled.set(identifier, handle(body));
  try {
    await handled.get(identifier); // A repetition waits for the work that is under way.
  } catch (error) {
    handled.delete(identifier); // The next attempt repeats the work.
    console.error(`${identifier}:`, error);
    return 500;
  }
  if (handled.size > remembered) handled.delete(handled.keys().next().value);
  return 200;
}

createServer(async (request, response) => {
  const status = await answer(request).catch(() => 400);
  response.writeHead(status, { 'content-length': 0 }).end();
}).listen(Number(process.argv[2]), '127.0.0.1');
