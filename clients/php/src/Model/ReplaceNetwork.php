<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

/**
 * A whole policy: a member that is left out takes its default, except allow_public_traffic, which stays as it
 * is.
 */
final class ReplaceNetwork implements \JsonSerializable
{
    /**
     * @param bool|null $allowInternetAccess The decision where no entry matches. Default: by the deployment's
     *   network class.
     * @param bool|null $ask Ask the owner where no entry matches: the destination is refused until you answer the
     *   approval that stands for it. Not together with allow_internet_access. Default: false.
     * @param bool|null $allowPackageRegistryAccess Include the egress profile package-registries. Default: by the
     *   deployment's network class.
     * @param bool|null $allowPublicTraffic Whether previews of public ports are open to everyone.
     * @param list<string>|null $allowOut Destinations that the sandbox can reach. A host name (api.example.com),
     *   names below one (*.example.com), or an IPv4 or IPv6 address or network. For one port only, append :port
     *   ([v6]:port for IPv6).
     * @param list<string>|null $denyOut Destinations that the sandbox cannot reach. The most specific entry decides:
     *   a name before a wildcard before an address before a network, longer before shorter, with a port before
     *   without. On a tie, the deny decides.
     * @param string|null $egressProfile One egress profile of the operator, as in egress_profiles.
     * @param list<string>|null $egressProfiles Egress profiles of the operator whose entries are allowed.
     * @param list<EgressRule>|null $rules Rules for requests to single hosts over HTTPS. A host with rules is
     *   reached through them only. Of the rules of one host, the first with the method and the path decides.
     */
    public function __construct(
        public readonly ?bool $allowInternetAccess = null,
        public readonly ?bool $ask = null,
        public readonly ?bool $allowPackageRegistryAccess = null,
        public readonly ?bool $allowPublicTraffic = null,
        public readonly ?array $allowOut = null,
        public readonly ?array $denyOut = null,
        public readonly ?string $egressProfile = null,
        public readonly ?array $egressProfiles = null,
        public readonly ?array $rules = null,
    ) {
    }

    public function jsonSerialize(): object
    {
        return Members::of([
            'allow_internet_access' => $this->allowInternetAccess,
            'ask' => $this->ask,
            'allow_package_registry_access' => $this->allowPackageRegistryAccess,
            'allow_public_traffic' => $this->allowPublicTraffic,
            'allow_out' => $this->allowOut,
            'deny_out' => $this->denyOut,
            'egress_profile' => $this->egressProfile,
            'egress_profiles' => $this->egressProfiles,
            'rules' => $this->rules,
        ]);
    }
}
