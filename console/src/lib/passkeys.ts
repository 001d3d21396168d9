// SPDX-License-Identifier: GPL-2.0-or-later
// Passkeys: what the browser and the service say to each other (Web Authentication, Level 2).
import { api } from './client'
import { loadMe } from './session'

/** Browsers have passkeys for names only, and not for IP addresses. */
export const hasPasskeys =
  'PublicKeyCredential' in window &&
  'getAuthenticatorData' in AuthenticatorAttestationResponse.prototype &&
  !/^[\d.]+$|^\[/.test(location.hostname)

function encode(bytes: ArrayBuffer): string {
  const text = btoa(String.fromCharCode(...new Uint8Array(bytes)))
  return text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

function decode(text: string): Uint8Array<ArrayBuffer> {
  const plain = atob(text.replaceAll('-', '+').replaceAll('_', '/'))
  return Uint8Array.from(plain, letter => letter.charCodeAt(0))
}

/** Browsers give few reasons, so that no page learns which passkeys exist. */
async function ask<T>(asking: () => Promise<Credential | null>): Promise<[PublicKeyCredential, T]> {
  let credential
  try {
    credential = await asking()
  } catch (error) {
    if (error instanceof DOMException && error.name === 'InvalidStateError')
      throw new Error('This device has a passkey of yours already.')
    throw new Error('The browser did not use a passkey. Try again.')
  }
  if (!(credential instanceof PublicKeyCredential)) throw new Error('The browser did not use a passkey. Try again.')
  return [credential, credential.response as T]
}

export async function addPasskey(name: string, password: string): Promise<void> {
  const asked = await api.post('/v1/me/passkeys/begin', { body: { password } })
  const [, answer] = await ask<AuthenticatorAttestationResponse>(() =>
    navigator.credentials.create({
      publicKey: {
        challenge: decode(asked.challenge),
        rp: { id: asked.rp_id, name: 'sandlot' },
        user: { id: decode(asked.user_handle), name: asked.user_name, displayName: asked.user_name },
        pubKeyCredParams: asked.algorithms.map(alg => ({ type: 'public-key', alg })),
        excludeCredentials: asked.exclude.map(id => ({ type: 'public-key', id: decode(id) })),
        authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
        attestation: 'none',
        timeout: asked.timeout_s * 1000,
      },
    }),
  )
  await api.post('/v1/me/passkeys', {
    body: { name, client_data: encode(answer.clientDataJSON), authenticator_data: encode(answer.getAuthenticatorData()) },
  })
}

export async function signInByPasskey(): Promise<void> {
  const asked = await api.post('/v1/login/passkey/begin')
  const [credential, answer] = await ask<AuthenticatorAssertionResponse>(() =>
    navigator.credentials.get({
      publicKey: {
        challenge: decode(asked.challenge),
        rpId: asked.rp_id,
        userVerification: 'required',
        timeout: asked.timeout_s * 1000,
      },
    }),
  )
  await api.post('/v1/login/passkey', {
    body: {
      credential_id: encode(credential.rawId),
      user_handle: encode(answer.userHandle ?? new ArrayBuffer(0)),
      client_data: encode(answer.clientDataJSON),
      authenticator_data: encode(answer.authenticatorData),
      signature: encode(answer.signature),
    },
  })
  await loadMe()
}
