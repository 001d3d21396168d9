<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Tests;

use Sandlot\Exception\Api\InvalidRequestException;
use Sandlot\Exception\WaitException;
use Sandlot\Model\AnsweredApprovalState;
use Sandlot\Model\ApprovalAnswer;
use Sandlot\Model\Explicit;
use Sandlot\Model\NetworkStatus;
use Sandlot\Model\ReplaceNetwork;
use Sandlot\Model\ReplaceTeamProxy;
use Sandlot\Model\Verdict;

/** What a sandbox reaches, and how it is reached. */
final class NetworkTest extends ServiceTestCase
{
    public function testAPolicy(): void
    {
        $network = self::sandbox()->network;
        $set = $network->set(allowInternetAccess: false, allowOut: ['api.example.com:443'], denyOut: ['203.0.113.7']);
        $this->assertSame(NetworkStatus::Applied, $set->status);
        $this->assertSame(['api.example.com:443'], $network->get()->allowOut);
        $verdict = $network->check('api.example.com', 443);
        $this->assertSame([Verdict::Allow, '/allow_out/0'], [$verdict->verdict, $verdict->origin]);
        $this->assertSame(Verdict::Deny, $network->check('api.example.com', 80)->verdict);

        self::sandbox()->commands->run('curl -s -m 1 http://203.0.113.7/');
        for ($tries = 0; $tries < 300 && ($denials = $network->denials()) === []; $tries++) {
            usleep(100_000);
        }
        $this->assertSame('203.0.113.7', $denials[0]->target);
    }

    public function testNoProxyIsMoreThanNoWord(): void
    {
        $words = static fn (object $body): string => json_encode($body, JSON_THROW_ON_ERROR);
        $this->assertSame('{}', $words(new ReplaceNetwork()));
        $this->assertSame('{"egress_proxy":null}', $words(new ReplaceNetwork(egressProxy: Explicit::Null)));
        $this->assertSame('{"egress_proxy":null}', $words(new ReplaceTeamProxy(null)));
        $set = self::sandbox()->network->set(allowInternetAccess: false, egressProxy: Explicit::Null);
        $this->assertNull($set->egressProxy);
    }

    public function testApprovals(): void
    {
        $network = self::sandbox()->network;
        $this->assertTrue($network->set(ask: true)->ask);
        self::sandbox()->commands->run('curl -s -m 1 http://203.0.113.9/');
        for ($tries = 0; $tries < 300 && ($approvals = $network->approvals()) === []; $tries++) {
            usleep(100_000);
        }
        $this->assertSame('203.0.113.9:80', $approvals[0]->target);
        $answered = $network->approve($approvals[0]->id, ApprovalAnswer::Minutes, 5);
        $this->assertSame(AnsweredApprovalState::Allowed, $answered->state);
        $network->set(allowInternetAccess: false);
        $this->assertSame([], $network->approvals());
    }

    public function testAnEntryThatIsWrongIsNamed(): void
    {
        try {
            self::sandbox()->network->set(denyOut: ['example.com', 'not a host']);
            $this->fail('it was taken');
        } catch (InvalidRequestException $refusal) {
            $this->assertSame('/deny_out/1', $refusal->field);
        }
    }

    public function testPreviews(): void
    {
        $previews = self::sandbox()->previews;
        $public = $previews->expose(3000, public: true);
        $private = $previews->expose(3001);
        $this->assertFalse($public->isReady());
        $this->assertSame([3000, 3001], array_column(array_column($previews->list(), 'port'), 'port'));
        self::sandbox()->files->write('site/index.html', 'a page');
        foreach ([3000, 3001] as $port) {
            $server = "exec python3 -m http.server -b 127.0.0.1 {$port} -d site 2>/dev/null";
            self::sandbox()->commands->start($server)->detach();
        }
        $this->assertSame('a page', self::fetch($public->waitUntilReady()->url . '/index.html'));
        $private = $private->waitUntilReady();
        $this->assertSame('', self::fetch($private->url . '/index.html'));
        $this->assertSame('a page', self::fetch($private->url . '/index.html', $private->headers()));
        $this->assertSame([], $public->headers());
        $this->assertSame("{$public->url}/a?b", $public->link('/a?b'));
        $token = $private->headers()['X-Access-Token'];
        $exec = self::sandbox()->session()->dataPlaneUrl . '/exec';
        $this->assertSame('', self::fetch($exec, ['X-Access-Token' => $token]));
        // A browser is sent on to the address without the token, with a cookie.
        $this->assertSame('a page', self::fetch($private->link('/index.html'), redirects: true));
        $previews->withdraw(3000);
        $this->assertCount(1, $previews->list());
        $this->expectException(WaitException::class);
        $previews->expose(3009)->waitUntilReady(timeout: 0.1);
    }

    /** @param array<string, string> $headers */
    private static function fetch(string $url, array $headers = [], bool $redirects = false): string
    {
        $handle = curl_init($url);
        curl_setopt_array($handle, [
            CURLOPT_RETURNTRANSFER => true,
            CURLOPT_FAILONERROR => true,
            CURLOPT_CAINFO => getenv('SANDLOT_CA'),
            CURLOPT_CONNECT_TO => ['::127.0.0.1:'],
            CURLOPT_HTTPHEADER => array_map(
                static fn (string $name, string $value): string => "{$name}: {$value}",
                array_keys($headers),
                $headers,
            ),
            CURLOPT_FOLLOWLOCATION => $redirects,
            CURLOPT_COOKIEFILE => '',
        ]);
        return (string) curl_exec($handle);
    }
}
