// SPDX-License-Identifier: GPL-2.0-or-later
// The network policy as a form: of a new sandbox, and of one that is there.
import { mergeEntries, type Shown } from '../lib/changes'
import type { Schemas } from '../lib/client'
import { ApiError } from '../lib/errors'
import { AreaField, Check, TextField } from '../parts/basic'

export interface Policy {
  internet: boolean
  ask: boolean
  registries: boolean
  publicTraffic: boolean
  allow: string
  deny: string
  profiles: string
  /** Parts that the form does not show. */
  kept: Pick<Schemas['ReplaceNetwork'], 'rules' | 'egress_proxy'>
}

export function policyOf(network: Schemas['Network']): Policy {
  return {
    internet: network.allow_internet_access,
    ask: network.ask === true,
    registries: network.allow_package_registry_access,
    publicTraffic: network.allow_public_traffic,
    allow: network.allow_out.join('\n'),
    deny: network.deny_out.join('\n'),
    profiles: network.egress_profiles.join(' '),
    kept: {
      ...(network.rules ? { rules: network.rules } : {}),
      egress_proxy: network.egress_proxy ?? null, // Without it, the team's would be taken.
    },
  }
}

/** Entries of a list that is written one a line, or with commas. */
export function entriesOf(text: string): string[] {
  return text
    .split(/[\s,]+/)
    .map(entry => entry.trim())
    .filter(entry => entry !== '')
}

export function requestOf(policy: Policy): Schemas['ReplaceNetwork'] {
  const profiles = entriesOf(policy.profiles)
  return {
    allow_internet_access: policy.internet,
    allow_package_registry_access: policy.registries,
    allow_public_traffic: policy.publicTraffic,
    allow_out: entriesOf(policy.allow),
    deny_out: entriesOf(policy.deny),
    ...(policy.ask ? { ask: true } : {}),
    ...policy.kept,
    ...(profiles.length > 0 ? { egress_profiles: profiles } : {}),
  }
}

/** The policy as the form shows it. */
export function shownPolicy(network: Schemas['Network']): Shown {
  const policy = policyOf(network)
  const words = (isOn: boolean): string => (isOn ? 'on' : 'off')
  return {
    'Internet access': words(policy.internet),
    'Ask about other destinations': words(policy.ask),
    'Package registries': words(policy.registries),
    'Public previews': words(policy.publicTraffic),
    Allow: entriesOf(policy.allow).join(', '),
    Deny: entriesOf(policy.deny).join(', '),
    'Egress profiles': policy.profiles,
  }
}

/** An edited policy, and the stored one from which the edit began. */
export interface PolicyEdit {
  loaded: Schemas['Network']
  policy: Policy
}

/** The same edit of a newer policy: it keeps what the user has changed. */
export function rebased({ loaded, policy: edited }: PolicyEdit, newer: Schemas['Network']): PolicyEdit {
  const [first, newest] = [policyOf(loaded), policyOf(newer)]
  const choose = <K extends keyof Policy>(name: K): Policy[K] => (edited[name] === first[name] ? newest : edited)[name]
  const list = (name: 'allow' | 'deny' | 'profiles', between: string): string =>
    edited[name] === first[name] || newest[name] === first[name]
      ? choose(name)
      : mergeEntries(entriesOf(first[name]), entriesOf(edited[name]), entriesOf(newest[name])).join(between)
  // A policy that asks has no internet access, so both are of one side.
  const other = edited.internet === first.internet && edited.ask === first.ask ? newest : edited
  const policy = {
    internet: other.internet,
    ask: other.ask,
    registries: choose('registries'),
    publicTraffic: choose('publicTraffic'),
    allow: list('allow', '\n'),
    deny: list('deny', '\n'),
    profiles: list('profiles', ' '),
    kept: newest.kept,
  }
  return { loaded: newer, policy }
}

/** The line of text that has the entry number index, from 0. */
export function lineOf(text: string, index: number): number {
  let left = index
  for (const [at, line] of text.split('\n').entries()) {
    left -= entriesOf(line).length
    if (left < 0) return at + 1
  }
  return 1
}

/** The refusal of an entry, with its line before the text: "/allow_out/2" is the third entry. */
export function withLine(error: unknown, policy: Policy): unknown {
  if (!(error instanceof ApiError)) return error
  const found = /(allow|deny)_out\/(\d+)$/.exec(error.field ?? '')
  if (!found) return error
  const line = lineOf(found[1] === 'allow' ? policy.allow : policy.deny, Number(found[2]))
  return new ApiError(error.status, error.code, `Line ${line}: ${error.message}`, error.field, error.requestId, error.retryAfterS)
}

export function PolicyFields(props: {
  policy: Policy
  onChange: (policy: Policy) => void
  disabled?: boolean
  /** The field that the service refused, and its sentence. */
  refused?: { field: string; text: string } | null
}) {
  const { policy } = props
  const set = (part: Partial<Policy>): void => props.onChange({ ...policy, ...part })
  const errorOf = (field: string): string | null => (props.refused?.field === field ? props.refused.text : null)
  const off = props.disabled ? { disabled: true } : {}
  return (
    <>
      <Check
        label="Internet access"
        hint="For destinations without an entry below. On: allowed. Off: refused."
        checked={policy.internet}
        onChange={internet => set({ internet, ask: policy.ask && !internet })}
        {...off}
      />
      <Check
        label="Ask about other destinations"
        hint="sandlot refuses destinations without an entry, and asks you about them."
        checked={policy.ask}
        onChange={ask => set({ ask, internet: policy.internet && !ask })}
        {...off}
      />
      <Check
        label="Package registries"
        hint="The registries of the usual package managers, also without internet access."
        checked={policy.registries}
        onChange={registries => set({ registries })}
        {...off}
      />
      <Check
        label="Public previews"
        hint="Everyone with the address of a public port can connect to it."
        checked={policy.publicTraffic}
        onChange={publicTraffic => set({ publicTraffic })}
        {...off}
      />
      <div class="two">
        <AreaField
          label="Allow"
          name="allow_out"
          rows={5}
          hint="One on each line: host, host:port, *.host, address or CIDR."
          value={policy.allow}
          onInput={allow => set({ allow })}
          error={errorOf('allow_out')}
          {...off}
        />
        <AreaField
          label="Deny"
          name="deny_out"
          rows={5}
          hint="The most specific entry decides. Of two equal ones, the refusal decides."
          value={policy.deny}
          onInput={deny => set({ deny })}
          error={errorOf('deny_out')}
          {...off}
        />
      </div>
      <TextField
        label="Egress profiles"
        name="egress_profiles"
        mono
        hint="Names of the operator's profiles, separated by spaces."
        value={policy.profiles}
        onInput={profiles => set({ profiles })}
        error={errorOf('egress_profiles') ?? errorOf('egress_profile')}
        {...off}
      />
    </>
  )
}
