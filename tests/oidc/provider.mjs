// SPDX-License-Identifier: GPL-2.0-or-later
// An identity provider for tests: node provider.mjs < settings.json; says "ready" when it listens.
// Anybody signs in without a password, as "<subject>~<preferred_username>~<group>,<group>".
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { generateKeyPairSync } from 'node:crypto';
import Provider from 'oidc-provider';

const settings = JSON.parse(readFileSync(0, 'utf8'));

function newKey() {
  const { privateKey } = settings.algorithm === 'ES256'
    ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
    : generateKeyPairSync('rsa', { modulusLength: 2048 });
  return { ...privateKey.export({ format: 'jwk' }), kid: `key-${process.pid}`, alg: settings.algorithm, use: 'sig' };
}

const provider = new Provider(settings.issuer, {
  clients: [{
    client_id: settings.client_id,
    client_secret: settings.client_secret,
    redirect_uris: [settings.redirect_uri],
    id_token_signed_response_alg: settings.algorithm,
    token_endpoint_auth_method: settings.auth_method,
  }],
  jwks: { keys: [newKey()] },
  cookies: { keys: ['of this test'] },
  pkce: { required: () => true },
  claims: { openid: ['sub'], profile: ['preferred_username', 'groups'] },
  conformIdTokenClaims: false,
  findAccount: (_, id) => {
    const [sub, name, groups] = id.split('~');
    return {
      accountId: id,
      claims: () => ({ sub, preferred_username: name, groups: groups.split(',') }),
    };
  },
});
createServer({ key: readFileSync(settings.key_file), cert: readFileSync(settings.certificate_file) },
  provider.callback()).listen(settings.port, '127.0.0.1', () => console.log('ready'));
